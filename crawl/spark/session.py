"""Opens the Spark session of a command or a job.

On a user's machine this starts the JVM: quickly, with settings for small local work, and
with everything it prints in a log file. Under spark-submit the JVM is there already, and
the cluster's settings and logging are left as they are.
"""

from __future__ import annotations

import logging
import os
import sys
import sysconfig
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile

from crawl.clock import SystemClock
from crawl.errors import EnvironmentFault
from crawl.spark import needs
from crawl.spark.class_archive import archive_options, forget_archive
from crawl.spark.code_archive import code_archives, named_archives, note_sent
from crawl.spark.costs import MAX_RESULT_SIZE
from crawl.spark.executor_env import executor_settings
from crawl.spark.java import Java, find_java
from crawl.spark.jvm_death import death_of, forget_dead_jvm, jvm_deaths_told, last_line
from crawl.spark.jvm_process import JvmProcess, watched_start
from crawl.spark.log_file import new_log_file
from crawl.spark.master import check_master, is_local, is_submitted
from crawl.spark.process_state import changed_environment, own_interrupts
from crawl.telemetry.settings import Settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from crawl.config import Config

_log = logging.getLogger(__name__)

LOG_FILE_KEY = "spark.nutria.log.file"
"""Setting that tells where the session's JVM writes; absent where the cluster decides."""

OPENING = threading.RLock()
"""Held by whoever opens or stops a session: a process has one, and pyspark shows it to other
threads before it is whole, and before the code of its tasks is on its way to executors."""

_JVM_OPTIONS = "spark.driver.extraJavaOptions"
_CODE = "spark.submit.pyFiles"

QUICK_JVM = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
"""The optimising compiler and the parallel collectors pay off after minutes of JVM work;
ours is done by Python workers, and the JVM hands it out."""

_JSON_LAYOUT = "org/apache/spark/log4j2-json-layout.properties"
"""Spark's own, for the driver's JVM, which takes no setting for it beside a shell."""
_JSON_LOG = {
    "spark.log.structuredLogging.enabled": "true",  # of executors
    "spark.log.level": "WARN",  # as it is without that layout
}

_EVERYWHERE = {
    # Times are UTC milliseconds in every table; what Spark prints must agree.
    needs.TIME_ZONE: "UTC",
    # Python meets Spark in Arrow batches, never row by row.
    needs.ARROW: "true",
    # A Python worker that has imported pyarrow serves all its executor's tasks.
    needs.WORKER_REUSE: "true",
    # An exchange sends blocks to as many destinations as there are buckets. By default a task
    # writes a file for each of up to 200, which took four times the CPU of one sorted file
    # (64 × 64 blocks), and only Kryo's bytes can be sorted without being read again.
    needs.BYPASS_MERGE: "1",
    needs.SERIALIZER: needs.KRYO,
    # The tasks of one job may return so much to the driver, or it fails: Spark's own default,
    # stated because it bounds a crawl. They return names of files and counts, some kilobytes each,
    # and rows go from task to task: `crawl status --phases` tells how much it was.
    MAX_RESULT_SIZE: "1g",
    # Two attempts of a fetch at once would be impolite.
    needs.SPECULATION: "false",
    # Spark's own readers know S3 as s3a; the connector is the user's to add
    "spark.hadoop.fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
}

_LOCAL = {
    # A web server of the size of a phase, which nobody looks at for a minute's work.
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Nothing but this process has business with the driver.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # Rows live in the Python workers; the JVM schedules.
    "spark.driver.memory": "1g",
    # The default of 200 is for clusters: here each would be a task of milliseconds.
    "spark.sql.shuffle.partitions": "8",
}


def open_session(
    name: str, config: Config, *, master: str | None = None, log_file: Path | None = None
) -> SparkSession:
    """The session called `name`; stop it with `.stop()` or use it in a `with`.

    `master`: what the user named, else what spark-submit was given, else all cores of this
    machine. `log_file`: where the JVM's output goes, else a new file in the log folder.
    `spark.*` keys of the configuration override every setting made here.
    EnvironmentFault or UsageError where Spark cannot start, ConfigError where a setting is wrong.
    Where a session exists it is that one, as it is: crawl/spark/shared_session.py looks at it.
    """
    with OPENING:
        current = current_session()
        if current is not None:
            return current
        settings = config.spark_settings()
        if is_submitted():
            return _submitted(name, master, settings)
        return _launched(name, config, master or settings.get("spark.master"), log_file)


def current_session() -> SparkSession | None:
    """The session that somebody in this process has opened already.

    Spark's own `getActiveSession` answers for a thread of the JVM, which may have changed
    since; a process has one context.
    """
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    if SparkContext._active_spark_context is None:
        return None
    return SparkSession.builder.getOrCreate()


def python_socket_settings(master: str) -> dict[str, str]:
    """How Python workers and JVM talk. Over TCP every small answer of a worker waits 40 ms for a
    delayed acknowledgement. On YARN it must: sockets lie in the container's own folder, whose
    path is longer than a socket's may be."""
    is_short = not master.startswith("yarn")
    return {"spark.python.unix.domain.socket.enabled": str(is_short).lower()}


def log_file_of(spark: SparkSession) -> Path | None:
    """Where the session's JVM writes its log; None where the cluster decides."""
    path = spark.sparkContext.getConf().get(LOG_FILE_KEY, None)
    return Path(path) if path else None


def _submitted(name: str, master: str | None, settings: Mapping[str, str]) -> SparkSession:
    """Inside spark-submit: its options stand, ours fill what they leave open."""
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    # Until pyspark has met the JVM, a SparkConf does not know what spark-submit was given.
    with _start_errors_explained("see Spark's log above"):
        SparkContext._ensure_initialized()
        conf = SparkConf()
    named = master or str(conf.get("spark.master", ""))
    ours = {**_EVERYWHERE, **python_socket_settings(named), **executor_settings(named)}
    for key, value in ours.items():
        conf.setIfMissing(key, value)
    conf.setIfMissing("spark.app.name", name)
    for key, value in settings.items():
        conf.set(key, value)
    if master is not None:
        conf.setMaster(check_master(master))
    elif named.startswith("spark://") or is_local(named):
        conf.setMaster(check_master(named))  # of which a local one gives a task several tries
    needs.refuse_wrong(conf.get)
    needs.tell(needs.remarks_on(conf.get))
    with own_interrupts(), _start_errors_explained("see Spark's log above"):
        return _hushed(SparkSession.builder.config(conf=conf).getOrCreate())


def _hushed(session: SparkSession) -> SparkSession:
    """The session, without a trace on the terminal that pyspark's server of accumulators, which
    we do not use, prints where the JVM dies in the middle of a message. Our own line tells of
    that death."""
    server = getattr(session.sparkContext, "_accumulatorServer", None)
    if server is not None:
        server.handle_error = lambda *_: _log.debug("accumulators", exc_info=True)
    return session


def _launched(name: str, config: Config, master: str | None, log_file: Path | None) -> SparkSession:
    master = check_master(master or "local[*]")
    user_settings = config.spark_settings()
    code = named_archives(user_settings.pop(_CODE, ""))
    is_sent_here = not code and not is_local(master)
    if is_sent_here:
        code = [str(archive) for archive in code_archives(config)]
    needs.refuse_wrong({**_EVERYWHERE, **user_settings}.get)
    needs.refuse_other_jvm(user_settings, _of_running_jvm("started_with"))
    java = find_java()
    log = _of_running_jvm("log_file") or log_file or new_log_file(SystemClock())

    settings = {**_EVERYWHERE, **python_socket_settings(master), **_worker_path(master)}
    settings |= _LOCAL if is_local(master) else {}
    has_json_log = Settings.of(config).log_json
    if has_json_log:
        settings |= _JSON_LOG
    settings |= user_settings
    settings |= {"spark.master": master, "spark.app.name": name, LOG_FILE_KEY: str(log)}
    needs.tell(needs.remarks_on(settings.get))
    with changed_environment(_variables(java, master, user_settings)), own_interrupts():
        log_lines = _json_lines() if has_json_log else []
        gateway = _gateway(java, settings, log, log_lines, quick=is_local(master))
        session = _session(gateway, settings, log)
    with jvm_deaths_told():
        for archive in code:
            session.sparkContext.addPyFile(archive)
        if is_sent_here:
            note_sent(session.sparkContext, config)
    return session


def _variables(java: Java, master: str, settings: Mapping[str, str]) -> dict[str, str]:
    variables = {
        "JAVA_HOME": str(java.home),
        # The small JVM that only puts the command line together.
        "SPARK_LAUNCHER_OPTS": " ".join(QUICK_JVM),
    }
    if is_local(master):
        # Or Spark asks the machine for its name, which a bare container cannot resolve.
        variables["SPARK_LOCAL_IP"] = "127.0.0.1"
        variables["PYSPARK_PYTHON"] = sys.executable
    else:
        usual = os.environ.get("PYSPARK_PYTHON", sys.executable)
        # pyspark itself asks the variable only
        variables["PYSPARK_PYTHON"] = settings.get("spark.pyspark.python", usual)
    return variables


def _worker_path(master: str) -> dict[str, str]:
    """Local workers must find this code also when it is a checkout that nobody installed."""
    root = Path(__file__).resolve().parents[2]
    if not is_local(master) or root == Path(sysconfig.get_path("purelib")).resolve():
        return {}
    inherited = os.environ.get("PYTHONPATH")
    path = f"{root}{os.pathsep}{inherited}" if inherited else str(root)
    return {"spark.executorEnv.PYTHONPATH": path}


def _gateway(
    java: Java, settings: dict[str, str], log: Path, options: list[str], *, quick: bool
) -> Any:
    """The JVM, started with these options or left from an earlier session of this process."""
    from pyspark import SparkContext
    from pyspark.find_spark_home import _find_spark_home

    if SparkContext._gateway is not None:
        return SparkContext._gateway
    if _JVM_OPTIONS in settings:
        return _jvm(settings, log)
    if not quick:
        return _jvm({**settings, **({_JVM_OPTIONS: _joined(options)} if options else {})}, log)
    jars = Path(_find_spark_home()) / "jars"
    archive = archive_options(java, jars, QUICK_JVM, SystemClock())
    # Or a JVM that crashes leaves its story in the user's working folder.
    quick_jvm = [*QUICK_JVM, *options, f"-XX:ErrorFile={log.with_suffix('.crash.log')}"]
    try:
        return _jvm({**settings, _JVM_OPTIONS: _joined([*quick_jvm, *archive])}, log)
    except EnvironmentFault as error:
        # one that somebody killed did not die of its archive
        if "SIGKILL" in str(error) or not forget_archive(archive):
            raise
        return _jvm({**settings, _JVM_OPTIONS: _joined(quick_jvm)}, log)


def _json_lines() -> list[str]:
    """The JVM's option for a log in JSON; none for a Spark that has no such layout."""
    from pyspark.find_spark_home import _find_spark_home

    for jar in (Path(_find_spark_home()) / "jars").glob("spark-common-utils*.jar"):
        with ZipFile(jar) as content:
            if _JSON_LAYOUT in content.namelist():
                return [f"-Dlog4j2.configurationFile=classpath:{_JSON_LAYOUT}"]
    return []


def _joined(options: list[str]) -> str:
    return " ".join(f'"{option}"' if " " in option else option for option in options)


def _jvm(settings: Mapping[str, str], log: Path) -> Any:
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark import SparkConf
    from pyspark.errors import PySparkRuntimeError
    from pyspark.java_gateway import launch_gateway

    conf = SparkConf(loadDefaults=False)
    conf.setAll(list(settings.items()))
    started: list[JvmProcess] = []
    try:
        with log.open("ab") as output, watched_start(log) as started:
            gateway = launch_gateway(  # type: ignore[no-untyped-call]
                conf, {"stdout": output, "stderr": output}
            )
    except (PySparkRuntimeError, Py4JError, ConnectionError, EOFError) as error:
        reason = started[0].cause_of_end() if started else f"{error}; see {log}"
        raise EnvironmentFault(f"the JVM did not start: {reason}") from error
    except OSError as error:
        raise EnvironmentFault(f"Spark cannot be started: {error}") from error
    gateway.log_file, gateway.started_with = log, dict(settings)
    return gateway


def _of_running_jvm(name: str) -> Any:
    """A process has one JVM in its life: a second session writes where the first did, and has its
    memory. None where there is none yet, or where it was not started here."""
    from pyspark import SparkContext

    gateway: Any = SparkContext._gateway
    return vars(gateway).get(name) if gateway is not None else None


def _session(gateway: Any, settings: Mapping[str, str], log: Path) -> SparkSession:
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    conf = SparkConf(loadDefaults=False)
    conf.setAll(list(settings.items()))
    with _start_errors_explained(f"see {log}", log, gateway):
        return _hushed(SparkSession(SparkContext(conf=conf, gateway=gateway)))


@contextmanager
def _start_errors_explained(
    where: str, log: Path | None = None, gateway: Any = None
) -> Iterator[None]:
    """What Spark raises when it does not start, as one line."""
    from py4j.protocol import Py4JError

    try:
        yield
    except (Py4JError, ConnectionError, EOFError) as error:
        died = death_of(error, gateway)
        if died is not None:
            forget_dead_jvm()
            raise EnvironmentFault(
                f"Spark did not start: {died.cause or 'its JVM died'}"
            ) from error
        cause = getattr(error, "java_exception", None)
        if cause is not None:
            reason = str(cause.getMessage() or cause.toString()).splitlines()[0]
            if "NoSuchFile" in str(cause.toString()):
                reason = f"there is no {reason}"  # Java tells the path only
        else:
            reason = str(error) if log is None else last_line(log)
        raise EnvironmentFault(f"Spark did not start: {reason}; {where}") from error
