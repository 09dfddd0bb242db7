"""A real YARN on loopback, for tests: a resource manager and two node managers, each a process.

Their code is that of the HDFS beside it, and three jars more. A node has room for two containers
of a test's size, so that a job's application master and two executors never share one node.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from crawl.spark.java import find_java
from tests.cluster.standalone import bare_environment, wait_for
from tests.free_port import free_port
from tests.maven import fetched
from tests.storage.hdfs_cluster import SMALL_JVM, hadoop_classes, write_site

_NODES = 2
_CONTAINERS_PER_NODE = 2
CONTAINER_MB = 512 + 384
"""Of a JVM with 512 MB: Spark adds at least 384 MB for all that is not its heap."""
_SERVERS = "org.apache.hadoop.yarn.server"
_RESOURCE_MANAGER = f"{_SERVERS}.resourcemanager.ResourceManager"
_NODE_MANAGER = f"{_SERVERS}.nodemanager.NodeManager"
# the resource manager makes certificates, also where nobody asks for one
_BOUNCY_CASTLE = ("bcprov-jdk18on", "bcpkix-jdk18on", "bcutil-jdk18on")
_BOUNCY_CASTLE_VERSION = "1.78.1"
_PORTS = ("address", "scheduler.address", "resource-tracker.address", "admin.address")
_NODE_PORTS = ("address", "localizer.address", "webapp.address")
_DISKS = "yarn.nodemanager.disk-health-checker"
_EXECUTOR = b"ExecutorBackend"


class YarnCluster:
    """A cluster that runs; all that it starts has its folder in the environment."""

    def __init__(self, base: Path, default_fs: str) -> None:
        self._base = base
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        jars = (
            fetched("org.bouncycastle", name, _BOUNCY_CASTLE_VERSION) for name in _BOUNCY_CASTLE
        )
        self._classes = [*hadoop_classes(), *jars]
        self._web = f"127.0.0.1:{free_port()}"
        self._shared = {
            "fs.defaultFS": default_fs,
            "yarn.resourcemanager.webapp.address": self._web,
            **{f"yarn.resourcemanager.{name}": f"127.0.0.1:{free_port()}" for name in _PORTS},
            "yarn.resourcemanager.scheduler.class": f"{_SERVERS}.resourcemanager.scheduler.fifo"
            ".FifoScheduler",
            "yarn.scheduler.minimum-allocation-mb": 128,
            "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": 200,
        }
        self.conf = self._configure("client")
        """HADOOP_CONF_DIR of whoever submits."""

    def start(self) -> None:
        """Returns when all nodes take containers."""
        self._start("resources", _RESOURCE_MANAGER, self._configure("resources"))
        for number in range(_NODES):
            name = f"node-{number}"
            self._start(name, _NODE_MANAGER, self._configure(name))
        wait_for(lambda: self._nodes_running() == _NODES, "YARN's nodes")

    def stop(self) -> None:
        """Kills all that was ever started here, also what its parent has left behind."""
        for process in self._processes.values():
            process.kill()
            process.wait()
        while members := self.members():
            for pid in members:
                _kill(pid)
            time.sleep(0.02)

    def members(self) -> list[int]:
        """Processes of this cluster and of its clients that still run."""
        return [pid for pid in _processes() if self._is_ours(pid)]

    def container_output(self) -> str:
        """The ends of what drivers and executors wrote, the newest last."""
        logs = [path for path in self._base.glob("node-*/logs/*/*/std*") if path.stat().st_size]
        logs.sort(key=lambda path: path.stat().st_mtime)
        return "\n".join(f"{path}:\n{path.read_text()[-2000:]}" for path in logs[-6:])

    def environment(self, home: Path) -> dict[str, str]:
        """Of a client without this checkout."""
        return {**bare_environment(home), "HADOOP_CONF_DIR": str(self.conf)}

    def kill_executor_of(self, worker: int) -> None:
        """Kills the JVM whose Python worker this is, as the kernel does where memory is short."""
        pid = worker
        while _EXECUTOR not in _read(pid, "cmdline"):
            pid = _parent(pid)
            assert pid > 1, f"{worker} is no process of an executor"
        assert b"CONTAINER_ID=" in _read(pid, "environ") and self._is_ours(pid)
        _kill(pid)

    def _is_ours(self, pid: int) -> bool:
        return os.fsencode(f"{self._base}/") in _read(pid, "environ") and pid != os.getpid()

    def _configure(self, name: str) -> Path:
        """The folder of a member's settings."""
        own: dict[str, object] = {"hadoop.tmp.dir": self._base / name}
        if name.startswith("node"):
            own |= {
                **{f"yarn.nodemanager.{name}": "127.0.0.1:0" for name in _NODE_PORTS},
                "yarn.nodemanager.local-dirs": self._base / name / "local",
                "yarn.nodemanager.log-dirs": self._base / name / "logs",
                "yarn.nodemanager.resource.memory-mb": _CONTAINERS_PER_NODE * CONTAINER_MB,
                # a virtual gigabyte is nothing, and the disk is whoever's
                "yarn.nodemanager.pmem-check-enabled": "false",
                "yarn.nodemanager.vmem-check-enabled": "false",
                # or every container begins with a list of all files of all packages
                "yarn.nodemanager.log-container-debug-info.enabled": "false",
                f"{_DISKS}.max-disk-utilization-per-disk-percentage": 99.5,
            }
        folder = self._base / f"conf-{name}"
        folder.mkdir()
        for file in ("core-site.xml", "yarn-site.xml"):
            write_site(folder / file, {**self._shared, **own})
        return folder

    def _start(self, name: str, kind: str, conf: Path) -> None:
        java = find_java().home / "bin" / "java"
        classes = os.pathsep.join([str(conf), *map(str, self._classes)])
        environment = {**bare_environment(self._base), "HADOOP_CONF_DIR": str(conf)}
        with self._log(name).open("wb") as log:
            self._processes[name] = subprocess.Popen(
                [java, *SMALL_JVM, "-cp", classes, kind],
                stdout=log,
                stderr=log,
                cwd=self._base,
                env=environment,
                start_new_session=True,
            )

    def _log(self, name: str) -> Path:
        return self._base / f"{name}.log"

    def _nodes_running(self) -> int:
        for name, process in self._processes.items():
            assert process.poll() is None, f"{name} ended: {self._log(name).read_text()[-2000:]}"
        address = f"http://{self._web}/ws/v1/cluster/metrics"
        try:
            with urllib.request.urlopen(address, timeout=30) as answer:
                return int(json.load(answer)["clusterMetrics"]["activeNodes"])
        except OSError:
            return 0


@contextmanager
def running_yarn(default_fs: str) -> Iterator[YarnCluster]:
    """A cluster for the time of a block; nothing of it is left after."""
    with tempfile.TemporaryDirectory(prefix="yarn-", ignore_cleanup_errors=True) as base:
        cluster = YarnCluster(Path(base), default_fs)
        try:
            cluster.start()
            yield cluster
        finally:
            cluster.stop()


def _processes() -> Iterator[int]:
    return (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())


def _read(pid: int, file: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{file}").read_bytes()
    except OSError:
        return b""  # it has ended


def _parent(pid: int) -> int:
    fields = _read(pid, "stat").rpartition(b")")[2].split()
    return int(fields[1]) if fields else 0


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
