"""A real HDFS on loopback, for tests: a name node and two data nodes, each a process.

Their code is one artefact of Maven beside the Hadoop client that comes with Spark, fetched
once and kept in the user's cache folder.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.find_spark_home import _find_spark_home

from crawl.errors import StorageError
from crawl.spark.java import find_java
from crawl.spark.user_folders import cache_folder
from crawl.storage.folder import Folder
from tests.free_port import free_port

BLOCK = 8 << 20
_DATA_NODES = 2
_SERVERS = "org.apache.hadoop.hdfs.server"
_NAME_NODE = f"{_SERVERS}.namenode.NameNode"
_DATA_NODE = f"{_SERVERS}.datanode.DataNode"
_ARTEFACT = "hadoop-client-minicluster"
_LIBRARIES = ("hadoop-client-*", "slf4j-api-*", "log4j-*", "jcl-over-slf4j-*", "jsr305-*")
_JVM = (
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-Xmx256m",
    "-Djava.net.preferIPv4Stack=true",
)
_LOOKS = 1200
_pause = threading.Event()  # never set: a sleep


class HdfsCluster:
    """A cluster that runs, unless a part of it was killed."""

    def __init__(self, base: Path) -> None:
        self._base = base
        self._java = find_java()
        self._classes = _classes()
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self.port = free_port()
        self.address = f"hdfs://127.0.0.1:{self.port}"
        for number in range(_DATA_NODES):
            self._configure(f"data-{number}")
        self._configure("name")

    def start(self) -> None:
        """Returns when files can be written."""
        formatting = [*self._command("name", _NAME_NODE), "-format", "-nonInteractive"]
        with self._log("name").open("ab") as log:
            subprocess.run(formatting, check=True, stdout=log, stderr=log, timeout=900)
        self.start_name_node()
        for number in range(_DATA_NODES):
            self.start_data_node(number)
        self.wait()

    def stop(self) -> None:
        for name in list(self._processes):
            self._kill(name)

    def new_folder(self) -> str:
        """The address of a place where nothing is."""
        return f"{self.address}/{uuid.uuid4().hex[:12]}"

    def start_name_node(self) -> None:
        self._start("name", _NAME_NODE)

    def kill_name_node(self) -> None:
        self._kill("name")

    def start_data_node(self, number: int) -> None:
        self._start(f"data-{number}", _DATA_NODE)

    def kill_data_node(self, number: int) -> None:
        self._kill(f"data-{number}")

    def wait(self) -> None:
        """Until a block finds a data node."""
        probe = Folder(f"{self.address}/probe-{uuid.uuid4().hex[:8]}")
        for _ in range(_LOOKS):
            try:
                probe.write("x", b"x")
                probe.delete("")
            except StorageError as error:
                reason = str(error)
                self._require_life()
                _pause.wait(0.5)
            else:
                return
        raise AssertionError(f"the HDFS cluster does not get ready: {reason}")

    def _require_life(self) -> None:
        for name, process in self._processes.items():
            log = self._log(name)
            assert process.poll() is None, f"{name} node ended: {log.read_text()[-2000:]}"

    def _configure(self, name: str) -> None:
        settings = {
            "fs.defaultFS": self.address,
            "hadoop.tmp.dir": self._base / name,
            "dfs.namenode.http-address": "127.0.0.1:0",
            "dfs.datanode.address": "127.0.0.1:0",
            "dfs.datanode.http.address": "127.0.0.1:0",
            "dfs.datanode.ipc.address": "127.0.0.1:0",
            "dfs.namenode.datanode.registration.ip-hostname-check": "false",
            "dfs.replication": _DATA_NODES,
            "dfs.blocksize": BLOCK,
            # a file may be closed as soon as one data node has it: half a second less for each
            "dfs.namenode.file.close.num-committed-allowed": 1,
            "dfs.namenode.safemode.extension": 0,
            # a data node that was killed is missed after seconds
            "dfs.heartbeat.interval": 1,
            "dfs.namenode.heartbeat.recheck-interval": 1000,
        }
        rows = "".join(
            f"<property><name>{key}</name><value>{value}</value></property>"
            for key, value in settings.items()
        )
        folder = self._base / f"conf-{name}"
        folder.mkdir()
        (folder / "core-site.xml").write_text(f"<configuration>{rows}</configuration>")
        (folder / "hdfs-site.xml").write_text(f"<configuration>{rows}</configuration>")

    def _command(self, name: str, kind: str) -> list[str]:
        classes = os.pathsep.join([str(self._base / f"conf-{name}"), *map(str, self._classes)])
        return [str(self._java.home / "bin" / "java"), *_JVM, "-cp", classes, kind]

    def _log(self, name: str) -> Path:
        return self._base / f"{name}.log"

    def _start(self, name: str, kind: str) -> None:
        assert name not in self._processes
        with self._log(name).open("ab") as log:
            self._processes[name] = subprocess.Popen(
                self._command(name, kind), stdout=log, stderr=log, cwd=self._base
            )

    def _kill(self, name: str) -> None:
        process = self._processes.pop(name)
        process.send_signal(signal.SIGKILL)
        process.wait()


def unfinished(folder: Folder) -> list[str]:
    """What is there beside the files, as the name node itself says."""
    from hdfs_native import Client

    netloc, _, path = folder.address.removeprefix("hdfs://").partition("/")
    found = Client(f"hdfs://{netloc}").list_status(f"/{path}", True)
    return [entry.path for entry in found if entry.path.endswith(".unfinished")]


@contextmanager
def running() -> Iterator[HdfsCluster]:
    """A cluster for the time of a block; nothing of it is left after."""
    with tempfile.TemporaryDirectory(prefix="hdfs-", ignore_cleanup_errors=True) as base:
        cluster = HdfsCluster(Path(base))
        try:
            cluster.start()
            yield cluster
        finally:
            cluster.stop()


def _classes() -> list[Path]:
    jars = Path(_find_spark_home()) / "jars"
    client = next(jars.glob("hadoop-client-api-*.jar"))
    servers = _fetched(client.stem.removeprefix("hadoop-client-api-"))
    return [servers, *(jar for pattern in _LIBRARIES for jar in sorted(jars.glob(pattern)))]


def _fetched(version: str) -> Path:
    """The servers' code, of the version that Spark's client has."""
    kept = cache_folder() / f"{_ARTEFACT}-{version}.jar"
    if kept.exists():
        return kept
    kept.parent.mkdir(parents=True, exist_ok=True)
    plugin = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"
    with tempfile.TemporaryDirectory(dir=kept.parent) as there:
        done = subprocess.run(
            [
                *(_maven(), "-q", "-B", plugin, f"-DoutputDirectory={there}"),
                f"-Dartifact=org.apache.hadoop:{_ARTEFACT}:{version}",
            ],
            cwd=there,
            capture_output=True,
            text=True,
            timeout=900,
        )
        assert done.returncode == 0, f"Maven could not fetch {_ARTEFACT}: {done.stdout[-1000:]}"
        (Path(there) / kept.name).replace(kept)
    return kept


def _maven() -> str:
    found = shutil.which("mvn")
    if found is None and os.getuid() == 0 and shutil.which("apt-get"):
        subprocess.run(["apt-get", "update", "-qq"], capture_output=True, timeout=600)
        install = ["apt-get", "install", "-qq", "-y", "--no-install-recommends", "maven"]
        subprocess.run(install, capture_output=True, timeout=900)
        found = shutil.which("mvn")
    assert found, "the tests of HDFS fetch it by Maven: install one (apt-get install maven)"
    return found
