"""Opens the Spark session of a command or a job.

On a user's machine this starts the JVM: quickly, with settings for small local work, and
with everything it prints in a log file. Under spark-submit the JVM is there already, and
the cluster's settings and logging are left as they are.
"""

from __future__ import annotations

import logging
import os
import signal
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
from crawl.spark.class_archive import archive_options, forget_archive
from crawl.spark.code_archive import code_archives, named_archives
from crawl.spark.costs import MAX_RESULT_SIZE
from crawl.spark.executor_env import executor_settings
from crawl.spark.java import Java, find_java
from crawl.spark.jvm_process import JvmProcess, watched_start
from crawl.spark.log_file import new_log_file
from crawl.spark.master import check_master, is_local, is_submitted
from crawl.telemetry.settings import Settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from crawl.config import Config

_log = logging.getLogger(__name__)

LOG_FILE_KEY = "spark.nutria.log.file"
"""Setting that tells where the session's JVM writes; absent where the cluster decides."""

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
    "spark.sql.session.timeZone": "UTC",
    # Python meets Spark in Arrow batches, never row by row.
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # A Python worker that has imported pyarrow serves all its executor's tasks.
    "spark.python.worker.reuse": "true",
    # An exchange sends blocks to as many destinations as there are buckets. By default a task
    # writes a file for each of up to 200, which took four times the CPU of one sorted file
    # (64 × 64 blocks), and only Kryo's bytes can be sorted without being read again.
    "spark.shuffle.sort.bypassMergeThreshold": "1",
    "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
    # The tasks of one job may return so much to the driver, or it fails: Spark's own default,
    # stated because it bounds a crawl. They return names of files and counts, some kilobytes each,
    # and rows go from task to task: `crawl status --phases` tells how much it was.
    MAX_RESULT_SIZE: "1g",
    # Two attempts of a fetch at once would be impolite.
    "spark.speculation": "false",
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
    name: str,
    config: Config,
    *,
    master: str | None = None,
    log_file: Path | None = None,
) -> SparkSession:
    """The session called `name`; stop it with `.stop()` or use it in a `with`.

    `master`: what the user named, else what spark-submit was given, else all cores of this
    machine. `log_file`: where the JVM's output goes, else a new file in the log folder.
    `spark.*` keys of the configuration override every setting made here.
    EnvironmentFault or UsageError where Spark cannot start.
    """
    current = current_session()
    if current is not None:
        return current
    chosen = config.spark_settings()
    if is_submitted():
        return _submitted(name, master, chosen)
    return _launched(name, config, master or chosen.get("spark.master"), log_file)


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


def _submitted(name: str, master: str | None, chosen: Mapping[str, str]) -> SparkSession:
    """Inside spark-submit: its options stand, ours fill what they leave open."""
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    # Until pyspark has met the JVM, a SparkConf does not know what spark-submit was given.
    SparkContext._ensure_initialized()
    conf = SparkConf()
    named = master or str(conf.get("spark.master", ""))
    ours = {**_EVERYWHERE, **python_socket_settings(named), **executor_settings(named)}
    for key, value in ours.items():
        conf.setIfMissing(key, value)
    conf.setIfMissing("spark.app.name", name)
    for key, value in chosen.items():
        conf.set(key, value)
    if master is not None:
        conf.setMaster(check_master(master))
    elif named.startswith("spark://") or is_local(named):
        conf.setMaster(check_master(named))  # of which a local one gives a task several tries
    with _own_interrupts(), _start_errors_explained("see Spark's log above"):
        return _hushed(SparkSession.builder.config(conf=conf).getOrCreate())


def _hushed(session: SparkSession) -> SparkSession:
    """The session, without a trace on the terminal that pyspark's server of accumulators, which
    we do not use, prints where the JVM dies in the middle of a message. Our own line tells of
    that death."""
    server = getattr(session.sparkContext, "_accumulatorServer", None)
    if server is not None:
        server.handle_error = lambda *_: _log.debug("accumulators", exc_info=True)
    return session


def _launched(
    name: str,
    config: Config,
    master: str | None,
    log_file: Path | None,
) -> SparkSession:
    master = check_master(master or "local[*]")
    chosen = config.spark_settings()
    code = named_archives(chosen.pop(_CODE, ""))
    if not code and not is_local(master):
        code = [str(archive) for archive in code_archives(config)]
    java = find_java()
    log = _log_of_running_jvm() or log_file or new_log_file(SystemClock())

    settings = {**_EVERYWHERE, **python_socket_settings(master), **_worker_path(master)}
    settings |= _LOCAL if is_local(master) else {}
    has_json_log = Settings.of(config).log_json
    if has_json_log:
        settings |= _JSON_LOG
    settings |= chosen
    settings |= {"spark.master": master, "spark.app.name": name, LOG_FILE_KEY: str(log)}
    with _environment(_variables(java, master, chosen)), _own_interrupts():
        log_lines = _json_lines() if has_json_log else []
        gateway = _gateway(java, settings, log, log_lines, quick=is_local(master))
        session = _session(gateway, settings, log)
    for archive in code:
        session.sparkContext.addPyFile(archive)
    return session


def _variables(java: Java, master: str, chosen: Mapping[str, str]) -> dict[str, str]:
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
        variables["PYSPARK_PYTHON"] = chosen.get("spark.pyspark.python", usual)
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
    except EnvironmentFault:
        if not forget_archive(archive):
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
    except PySparkRuntimeError as error:
        why = started[0].trouble if started else ""
        reason = f"{why}: {_reason(log)}" if why else _reason(log)
        raise EnvironmentFault(f"the JVM did not start: {reason}; see {log}") from error
    except OSError as error:
        raise EnvironmentFault(f"Spark cannot be started: {error}") from error
    gateway.log_file = log
    return gateway


def _log_of_running_jvm() -> Path | None:
    """A process has one JVM in its life: a second session writes where the first did."""
    from pyspark import SparkContext

    gateway: Any = SparkContext._gateway
    return vars(gateway).get("log_file") if gateway is not None else None


def _session(gateway: Any, settings: Mapping[str, str], log: Path) -> SparkSession:
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    conf = SparkConf(loadDefaults=False)
    conf.setAll(list(settings.items()))
    with _start_errors_explained(f"see {log}", log):
        return _hushed(SparkSession(SparkContext(conf=conf, gateway=gateway)))


@contextmanager
def _start_errors_explained(where: str, log: Path | None = None) -> Iterator[None]:
    """What Spark raises when it does not start, as one line."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]

    try:
        yield
    except Py4JError as error:
        cause = getattr(error, "java_exception", None)
        if cause is not None:
            reason = str(cause.getMessage() or cause.toString()).splitlines()[0]
            if "NoSuchFile" in str(cause.toString()):
                reason = f"there is no {reason}"  # Java tells the path only
        else:
            reason = "it said nothing" if log is None else _reason(log)
        raise EnvironmentFault(f"Spark did not start: {reason}; {where}") from error


def _reason(log: Path) -> str:
    """The line of the log that tells a user most."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    said = [line.strip() for line in lines if not line.startswith("\tat ")]  # no stack
    telling = [line for line in said if "Exception" in line or "rror" in line]
    return (telling or [line for line in said if line] or ["it said nothing"])[-1]


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Variables that the JVM and pyspark read at start; the process's own come back after."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _not_from_py4j(record: logging.LogRecord) -> bool:
    return Path(record.pathname).parent.name != "py4j"


@contextmanager
def _own_interrupts() -> Iterator[None]:
    """Keeps Ctrl-C as it was: pyspark's handler fails once its session is stopped, and
    whoever runs tasks here cancels them itself."""
    # On Ctrl-C py4j logs a traceback, to the root logger and so to the terminal; and on a
    # second one to its own, whose records no filter of the root logger sees.
    logging.getLogger().addFilter(_not_from_py4j)
    logging.getLogger("py4j").propagate = False
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
