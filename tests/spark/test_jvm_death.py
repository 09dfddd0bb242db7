"""A JVM that is gone is told in one line, with what it died of."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError  # type: ignore[import-untyped]

from crawl.errors import EnvironmentFault
from crawl.spark import session
from crawl.spark.faults import reported_faults
from crawl.spark.java import find_java
from crawl.spark.jvm_death import JVMDied, cause_of_end, death_of, deaths_ignored, jvm_deaths_told
from crawl.spark.jvm_process import JvmProcess

INCUBATOR = "WARNING: Using incubator modules: jdk.incubator.vector"
WARNING = "26/11/18 04:10:40 WARN NativeCodeLoader: Unable to load native-hadoop library"
TRACE = [
    'Exception in thread "main" java.lang.NoClassDefFoundError: scala/Predef',
    "\tat org.apache.spark.deploy.SparkSubmit.main(SparkSubmit.scala)",
    "\t... 3 more",
]


@pytest.mark.parametrize(
    ("code", "lines", "cause"),
    [
        (-9, [INCUBATOR], "killed by SIGKILL (out of memory?)"),
        (-15, [], "killed by SIGTERM"),
        (1, [INCUBATOR], "exit code 1: it said nothing"),
        (1, [INCUBATOR, WARNING], "exit code 1: it said nothing"),
        (1, [*TRACE, INCUBATOR], f"exit code 1: {TRACE[0]}"),
        (
            1,
            [
                "Unrecognized VM option 'UseNothing'",
                "Error: Could not create the Java Virtual Machine.",
                "Error: A fatal exception has occurred. Program will exit.",
            ],
            "exit code 1: Unrecognized VM option 'UseNothing'",
        ),
        (
            1,
            [
                "Error occurred during initialization of VM",
                "Could not reserve enough space for 104857600000KB object heap",
            ],
            "exit code 1: Could not reserve enough space for 104857600000KB object heap",
        ),
        (
            52,
            [INCUBATOR, "java.lang.OutOfMemoryError: Java heap space", *TRACE[1:]],
            "out of memory (OutOfMemoryError: Java heap space)",
        ),
        (127, ["env: java: No such file or directory"], None),
        (None, ["java.io.IOException: no space"], "java.io.IOException: no space"),
    ],
)
def test_what_it_died_of(tmp_path: Path, code: int, lines: list[str], cause: str | None) -> None:
    log = tmp_path / "jvm.log"
    log.write_text("\n".join(lines))
    expected = f"exit code {code}: {lines[-1]}" if cause is None else cause
    assert cause_of_end(code, log) == f"{expected}; see {log}"


def test_what_an_earlier_jvm_wrote_is_not_its_cause(tmp_path: Path) -> None:
    log = tmp_path / "jvm.log"
    log.write_text("java.lang.OutOfMemoryError: Java heap space\n")
    assert cause_of_end(1, log, log.stat().st_size) == f"exit code 1: it said nothing; see {log}"


def test_a_crash_is_told_by_its_file(tmp_path: Path) -> None:
    log, crash = tmp_path / "jvm.log", tmp_path / "jvm.crash.log"
    crash.touch()
    assert cause_of_end(-6, log) == f"it crashed, see {crash}; see {log}"


@pytest.fixture
def killed(tmp_path: Path) -> Iterator[Any]:
    """The gateway of a JVM that was killed."""
    log = tmp_path / "jvm.log"
    process = JvmProcess([sys.executable, "-c", "input()"], log=log, stdin=subprocess.PIPE)
    process.kill()
    process.close_stdin()
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # and does not listen
        address, port = nobody.getsockname()
        parameters = SimpleNamespace(address=address, port=port)
        yield SimpleNamespace(gateway_parameters=parameters, proc=process, log_file=log)
    process.wait()


ERRORS = [
    Py4JError("An error occurred while calling o23.count"),
    Py4JNetworkError("Answer from Java side is empty"),
    ConnectionRefusedError(111, "Connection refused"),
    ConnectionResetError(104, "Connection reset by peer"),
    EOFError(),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_whatever_python_s_side_says_it_is_one_line(killed: Any, error: Exception) -> None:
    with pytest.raises(JVMDied) as told, jvm_deaths_told(killed):
        raise error
    assert str(told.value) == (
        f"Spark's JVM died: killed by SIGKILL (out of memory?); see {killed.log_file};"
        " run the same command again"
    )
    assert told.value.exit_code == 2
    resumed = str(told.value.followed_by("run the same command to resume"))
    assert resumed.endswith(f"see {killed.log_file}; run the same command to resume")


@pytest.mark.parametrize("error", ERRORS[:2], ids=lambda error: type(error).__name__)
def test_a_job_whose_jvm_died_is_no_task_that_failed(
    killed: Any, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pyspark.SparkContext._gateway", killed)
    nothing: Any = None
    with pytest.raises(JVMDied, match="killed by SIGKILL"), reported_faults(nothing, "parse"):
        raise error


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_of_a_jvm_that_lives_stays_what_it_is(error: Exception) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address, port = listening.getsockname()
        parameters = SimpleNamespace(address=address, port=port)
        found = death_of(error, SimpleNamespace(gateway_parameters=parameters))
    if isinstance(error, ConnectionError):
        assert str(found) == "Spark's JVM died; run the same command again"
    else:
        assert found is None
    assert death_of(ValueError("mine"), SimpleNamespace(gateway_parameters=parameters)) is None


def test_closing_what_is_gone_is_no_fault() -> None:
    for error in ERRORS:
        with deaths_ignored():
            raise error


WARNS_AND_FAILS = f"""#!/bin/sh
case "$*" in *launcher.Main*) exec {{java}} "$@";; esac
echo "{INCUBATOR}" >&2
{{then}}
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("then", "message"),
    [
        ("exit 1", "exit code 1: it said nothing"),
        ("echo 'Error: wrong Java' >&2; exit 3", "exit code 3: Error: wrong Java"),
        ("kill -9 $$", r"killed by SIGKILL \(out of memory\?\)"),
    ],
    ids=["warns", "tells", "is killed"],
)
def test_a_java_that_dies_as_it_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, then: str, message: str
) -> None:
    """A start script is Java here; only what puts the command line together is a JVM."""
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    real = find_java().home / "bin" / "java"
    java.write_text(WARNS_AND_FAILS.format(java=real, then=then))
    java.chmod(0o755)
    monkeypatch.setattr("pyspark.SparkContext._gateway", None)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    log = tmp_path / "jvm.log"
    with pytest.raises(EnvironmentFault, match=f"^the JVM did not start: {message}; see {log}$"):
        session._jvm({"spark.master": "local[1]"}, log)


KILLED_AT = """
import os, signal, sys
from pyspark import SparkContext, java_gateway
from crawl.config import Config
from crawl.errors import CrawlError
from crawl.spark import jvm_process
from crawl.spark.runners import SparkOptions
from crawl.spark.tasks import SparkRunner

started = []
start = jvm_process.JvmProcess.__init__

def remembered(self, *given, **named):
    start(self, *given, **named)
    started.append(self)

jvm_process.JvmProcess.__init__ = remembered

def kill(*_):
    os.kill(started[-1].pid, signal.SIGKILL)
    os.waitid(os.P_PID, started[-1].pid, os.WEXITED | os.WNOWAIT)

def killing(owner, name):
    usual = getattr(owner, name)
    def first(*given, **named):
        setattr(owner, name, usual)
        kill()
        return usual(*given, **named)
    setattr(owner, name, first)

def kill_jvm(number):
    os.kill(number, signal.SIGKILL)
    signal.pause()

def attempt(moment, *where):
    if where:
        killing(*where)
    try:
        with SparkOptions("local[1]", True).session("x", Config.of({})) as spark:
            runner = SparkRunner(spark, quiet=True)
            if moment == "job":
                runner.run(kill_jvm, [started[-1].pid], "kill")
            print(moment, runner.run(len, ["a"], "count"), flush=True)
    except CrawlError as error:
        print(moment, type(error).__name__, error, flush=True)

attempt("port", java_gateway, "java_import")
attempt("context", SparkContext, "_do_init")
attempt("job")
attempt("closing", SparkContext, "stop")
attempt("none")
print("over", *(process.pid for process in started), flush=True)
"""


@pytest.mark.exhaustive
@pytest.mark.slow(seconds=60)
def test_a_jvm_that_is_killed_at_any_moment(tmp_path: Path) -> None:
    """A JVM for every moment, in one process: each is told, and the next session has a new one."""
    finished = subprocess.run(
        [sys.executable, "-c", KILLED_AT],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        env={
            **os.environ,
            "PYTHONPATH": str(Path(session.__file__).resolve().parents[2]),
            "XDG_STATE_HOME": str(tmp_path),
        },
    )
    assert finished.returncode == 0, finished.stderr
    lines = dict(line.split(" ", 1) for line in finished.stdout.splitlines())
    killed = r"killed by SIGKILL (out of memory?); see "
    assert lines["port"].startswith(f"EnvironmentFault the JVM did not start: {killed}")
    assert lines["context"].startswith(f"EnvironmentFault Spark did not start: {killed}")
    assert lines["job"].startswith(f"JVMDied Spark's JVM died: {killed}")
    assert lines["closing"] == lines["none"] == "[1]"
    assert finished.stderr == "", "no trace, no warning"
    numbers = [int(number) for number in lines["over"].split()]
    assert len(set(numbers)) == 5
    for number in numbers:
        with pytest.raises(ProcessLookupError):
            os.kill(number, signal.SIGCONT)
