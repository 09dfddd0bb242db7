"""No JVM, and nothing else that we start, outlives the command that started it."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark import java_gateway

from crawl.errors import EnvironmentFault
from crawl.spark import jvm_process, session
from crawl.spark.jvm_process import JvmProcess, watched_start

GATEWAY: Any = java_gateway
"""Exports nothing by name; the start of a JVM replaces what is in it."""

SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]
PATIENCE_S = 60.0


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def wait_for(happened: Callable[[], bool]) -> None:
    """Waits long, and fails where it never happens."""
    for _ in range(int(PATIENCE_S / 0.05)):
        if happened():
            return
        time.sleep(0.05)
    raise AssertionError("it never happened")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "jvm.log"


def test_it_is_ended_where_its_start_fails(log: Path) -> None:
    for fault in (OSError("no space"), KeyboardInterrupt()):
        with pytest.raises(type(fault)), watched_start(log) as started:
            GATEWAY.Popen(SLEEP, stdin=subprocess.PIPE)
            assert is_running(started[0].pid)
            raise fault
        assert not is_running(started[0].pid)
    assert GATEWAY.Popen is subprocess.Popen


def test_it_is_ended_where_it_is_never_up(log: Path) -> None:
    process = JvmProcess(SLEEP, log=log, start_s=0.0)
    assert process.poll() not in (None, 0)
    assert not is_running(process.pid)
    assert process.trouble == "it was not up after 0 s"


def test_it_is_ended_where_its_main_thread_died(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jvm_process, "_LOOK_EVERY_S", 0.0)
    log.write_text('Exception in thread "main" of an earlier start\n')
    process = JvmProcess(SLEEP, log=log)
    assert process.poll() is None
    with log.open("a") as more:
        more.write('Exception in thread "main" java.nio.file.NoSuchFileException\n')
    assert process.poll() not in (None, 0)
    assert not is_running(process.pid)
    assert process.trouble == "it failed as it started"


def test_one_that_ends_at_once_is_no_endless_wait(log: Path) -> None:
    process = JvmProcess(["true"], log=log)
    wait_for(lambda: process.poll() is not None)
    assert process.poll() == 1


def test_one_that_is_up_stays(log: Path) -> None:
    with watched_start(log, start_s=0.0) as started:
        GATEWAY.Popen(SLEEP, stdin=subprocess.PIPE)
    (process,) = started
    assert process.poll() is None
    process.end()
    assert not is_running(process.pid)


def test_a_stubborn_one_is_killed(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jvm_process, "_END_S", 0.1)
    deaf = "import signal, time; signal.signal(15, signal.SIG_IGN); print(flush=True);"
    process = JvmProcess(
        [sys.executable, "-c", f"{deaf} time.sleep(600)"], log=log, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.readline()
    process.end()
    process.stdout.close()
    assert process.returncode == -signal.SIGKILL


STARTER = """
import signal, subprocess, sys, time
from pathlib import Path
from crawl.spark.jvm_process import JvmProcess
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # who tests under nohup ignores it
process = JvmProcess([sys.executable, "-c", "import time; time.sleep(600)"], log=Path(sys.argv[1]))
print(process.pid, flush=True)
time.sleep(600)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's word to the child is Linux's")
@pytest.mark.parametrize(
    "number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT], ids=lambda n: n.name
)
def test_it_ends_with_its_command(log: Path, number: signal.Signals) -> None:
    """Though it reads no stdin."""
    command = subprocess.Popen(
        [sys.executable, "-c", STARTER, str(log)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(Path(session.__file__).resolve().parents[2])},
    )
    assert command.stdout is not None
    with command.stdout:
        child = int(command.stdout.readline())
    assert is_running(child)
    command.send_signal(number)
    command.wait(PATIENCE_S)
    wait_for(lambda: not is_running(child))


@pytest.mark.slow(seconds=15)
def test_a_jvm_whose_start_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when the disk is full: the JVM cannot write down its port."""
    from crawl.spark.java import find_java

    monkeypatch.setattr("pyspark.SparkContext._gateway", None)
    monkeypatch.setenv("JAVA_HOME", str(find_java().home))
    started: list[JvmProcess] = []
    real = JvmProcess

    def remembered(*given: object, **named: object) -> JvmProcess:
        # the folder for the port is gone before the JVM is there
        Path(named["env"]["_PYSPARK_DRIVER_CONN_INFO_PATH"]).parent.rmdir()  # type: ignore[index]
        started.append(real(*given, **named))  # type: ignore[arg-type]
        return started[-1]

    monkeypatch.setattr(jvm_process, "JvmProcess", remembered)
    monkeypatch.setattr("shutil.rmtree", lambda *_, **__: None)
    with pytest.raises(EnvironmentFault, match="it failed as it started: .*NoSuchFile"):
        session._jvm({"spark.master": "local[1]"}, tmp_path / "jvm.log")
    assert not is_running(started[0].pid)


LASTING = """
import os, subprocess, sys, threading, time
from pathlib import Path
from pyspark import java_gateway
from crawl.spark.jvm_process import watched_start

def start(*words):
    with watched_start(Path(sys.argv[1])) as started:
        java_gateway.Popen([sys.executable, "-c", CHILD, *words], stdin=subprocess.PIPE)
    print(started[0].pid, flush=True)
    return started[0]
"""
DEAF = """
CHILD = "import signal, time; signal.signal(15, signal.SIG_IGN); open(%r, 'w'); time.sleep(600)"
"""


def starting(code: str, log: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", code, str(log)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(session.__file__).resolve().parents[2])},
    )


def first_line(command: subprocess.Popen[bytes]) -> int:
    assert command.stdout is not None
    return int(command.stdout.readline())


def await_end(pid: int) -> None:
    """Waits for the end of a process that is nobody's child here."""
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        # unlike select, poll takes any number: a process of many tests may have a thousand files
        waiting = select.poll()
        waiting.register(process, select.POLLIN)
        ended = waiting.poll(PATIENCE_S * 1000)
    finally:
        os.close(process)
    assert ended, f"{pid} lives"


on_linux = pytest.mark.skipif(sys.platform != "linux", reason="the kernel's word is Linux's")


@on_linux
def test_one_that_would_write_an_archive_does_not_outlive_a_kill(tmp_path: Path, log: Path) -> None:
    """An archive takes half a minute and 800 MB, whatever the signal that ends the JVM."""
    is_deaf = tmp_path / "deaf"
    code = LASTING + DEAF % str(is_deaf)
    with starting(code + "start('-XX:ArchiveClassesAtExit=x'); time.sleep(600)", log) as command:
        child = first_line(command)
        wait_for(is_deaf.exists)
        command.kill()
        command.wait(PATIENCE_S)
        await_end(child)


@on_linux
def test_one_that_a_thread_started_lives_as_long_as_the_command(log: Path) -> None:
    """Linux takes the end of that thread for the end of its parent."""
    code = LASTING + (
        "CHILD = 'import time; time.sleep(600)'\n"
        "found = []\n"
        "thread = threading.Thread(target=lambda: found.append(start()))\n"
        "thread.start(); thread.join()\n"
        "print(found[0].poll() is None and 1 or 0, flush=True)\n"
        "time.sleep(600)"
    )
    with starting(code, log) as command:
        child = first_line(command)
        assert first_line(command) == 1 and is_running(child)
        command.kill()
        command.wait(PATIENCE_S)
        await_end(child)


@on_linux
def test_a_fork_does_not_keep_it_alive(log: Path) -> None:
    """By the pipe at whose end the JVM ends."""
    code = LASTING + (
        "CHILD = 'import sys; sys.stdin.read()'\n"
        "process = start()\n"
        "child = os.fork()\n"
        "if child == 0: os._exit(7 if process.stdin.closed else 1)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)\n"
        "print(int(process.stdin.closed), flush=True)"
    )
    with starting(code, log) as command:
        child = first_line(command)
        assert (first_line(command), first_line(command)) == (7, 0)
        assert command.wait(PATIENCE_S) == 0
        await_end(child)


def test_a_command_that_ends_waits_for_it(tmp_path: Path, log: Path) -> None:
    """It may write an archive as it exits."""
    archive = tmp_path / "archive"
    child = f"import sys, time; sys.stdin.read(); time.sleep(0.3); open({str(archive)!r}, 'w')"
    with starting(LASTING + f"CHILD = {child!r}\nstart()", log) as command:
        pid = first_line(command)
        assert command.wait(PATIENCE_S) == 0
        assert archive.exists() and not is_running(pid)


def test_a_command_that_ends_does_not_wait_for_ever(tmp_path: Path, log: Path) -> None:
    is_deaf = tmp_path / "deaf"
    code = LASTING + DEAF % str(is_deaf) + "import crawl.spark.jvm_process as ours\n"
    code += "ours._EXIT_S = ours._QUIET_S = 0.1\nstart()\n"
    with starting(code, log) as command:
        pid = first_line(command)
        assert command.wait(PATIENCE_S) == 0
        assert not is_running(pid)
