"""A Spark standalone cluster on loopback, from the Spark that pip installed, for tests.

Its machines have nothing of ours: no checkout, no environment variable, another folder.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pyspark

from crawl.spark.java import find_java
from crawl.spark.session import QUICK_JVM
from tests.quick_jvm import quick_jvm

SPARK = Path(pyspark.__file__).parent
PATIENCE_S = 600.0
"""Nothing takes so long, but on a machine that many share."""

T = TypeVar("T")


def wait_for(look: Callable[[], T | None], what: str) -> T:
    """Calls `look` until it finds something, and returns that."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        found = look()
        if found is not None and found is not False:
            return found
        time.sleep(0.05)
    raise AssertionError(f"waited in vain for {what}")


def bare_environment(home: Path) -> dict[str, str]:
    """The environment of a machine without this checkout."""
    return {
        # the Python of this test, wherever it comes from, is the machine's
        "PATH": f"{sys.base_prefix}/bin{os.pathsep}{os.environ['PATH']}",
        "HOME": str(home),
        "JAVA_HOME": str(find_java().home),
        "SPARK_HOME": str(SPARK),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": quick_jvm(),
        "SPARK_LAUNCHER_OPTS": " ".join(QUICK_JVM),
        # one that is killed is missed at once, not after a minute
        "SPARK_MASTER_OPTS": "-Dspark.worker.timeout=20",
    }


def session_members(session: int) -> list[int]:
    """The processes of a session: also those that have left their parent's group."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == session and fields[0] != "Z":
                found.append(int(entry.name))
    return found


@dataclass
class Daemon:
    """A master or a worker, and all that it starts: one session, as it were one machine."""

    process: subprocess.Popen[Any]
    log: Path

    def says(self, pattern: str) -> str:
        """The first group of the pattern, once the log has it."""

        def look() -> str | None:
            assert self.process.poll() is None, self.log.read_text()[-2000:]
            found = re.search(pattern, self.log.read_text(errors="replace"))
            return found.group(1) if found else None

        return wait_for(look, f"{pattern!r} in {self.log}")

    def is_home_of(self, pid: int) -> bool:
        return pid in session_members(self.process.pid)

    def kill(self) -> None:
        """As when the machine loses its power."""
        while members := session_members(self.process.pid):
            for pid in members:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            self.process.poll()
            time.sleep(0.02)
        self.process.wait()


@dataclass
class Cluster:
    """One master, and workers that come and go."""

    folder: Path
    master: str = ""
    workers: list[Daemon] = field(default_factory=list)
    _daemons: list[Daemon] = field(default_factory=list)

    def start(self) -> None:
        place = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        master = self._daemon("org.apache.spark.deploy.master.Master", *place)
        self.master = master.says(r"Starting Spark master at (spark://\S+)")
        for _ in range(2):
            self.add_worker()

    def add_worker(self) -> None:
        """With one core, so that two tasks are on two machines."""
        number = len(self._daemons)
        worker = self._daemon(
            *("org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1", "--webui-port", "0"),
            *("--cores", "1", "--memory", "1g", "--work-dir", str(self.folder / f"work{number}")),
            self.master,
        )
        worker.says("(Successfully registered) with master")
        self.workers.append(worker)

    def lose(self, worker: Daemon) -> None:
        worker.kill()
        self.workers.remove(worker)

    def worker_of(self, pid: int) -> Daemon:
        (found,) = [worker for worker in self.workers if worker.is_home_of(pid)]
        return found

    def stop(self) -> None:
        for daemon in reversed(self._daemons):
            daemon.kill()

    def _daemon(self, *arguments: str) -> Daemon:
        log = self.folder / f"daemon{len(self._daemons)}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [SPARK / "bin" / "spark-class", *arguments],
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                env=bare_environment(self.folder),
                start_new_session=True,
            )
        self._daemons.append(Daemon(process, log))
        return self._daemons[-1]


@contextmanager
def running_cluster(folder: Path) -> Iterator[Cluster]:
    cluster = Cluster(folder)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


@dataclass
class Submitted:
    """A command that was started, in a session of its own."""

    process: subprocess.Popen[str]
    out: Path
    err: Path

    def finish(self) -> int:
        try:
            return self.process.wait(PATIENCE_S)
        finally:
            self.kill()

    def kill(self) -> None:
        Daemon(self.process, self.err).kill()

    def says(self, pattern: str) -> str:
        """The first group of the pattern, once it has printed it; spark-submit has all that a
        driver prints on one stream."""
        return Daemon(self.process, self.out).says(pattern)

    @property
    def output(self) -> str:
        """What it printed, on both streams."""
        return self.out.read_text() + self.err.read_text()


def started(command: Sequence[str | Path], folder: Path, environment: dict[str, str]) -> Submitted:
    number = len(list(folder.glob("*.out")))
    out, err = folder / f"{number}.out", folder / f"{number}.err"
    with out.open("w") as output, err.open("w") as errors:
        process = subprocess.Popen(
            [str(argument) for argument in command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            text=True,
            cwd=folder,
            env=environment,
            start_new_session=True,
        )
    return Submitted(process, out, err)
