"""A real HDFS on loopback, for tests: a name node and two data nodes, each a process.

Their code is one artefact of Maven beside the Hadoop client that comes with Spark, fetched
once and kept in the user's cache folder.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import threading
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pyspark.find_spark_home import _find_spark_home

from crawl.errors import StorageError
from crawl.spark.java import find_java
from crawl.storage.folder import Folder
from tests.free_port import free_port
from tests.maven import fetched

BLOCK = 8 << 20
_DATA_NODES = 2
_SERVERS = "org.apache.hadoop.hdfs.server"
_NAME_NODE = f"{_SERVERS}.namenode.NameNode"
_DATA_NODE = f"{_SERVERS}.datanode.DataNode"
_LIBRARIES = ("hadoop-client-*", "slf4j-api-*", "log4j-*", "jcl-over-slf4j-*", "jsr305-*")
SMALL_JVM = (
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
        self._classes = hadoop_classes()
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
        folder = self._base / f"conf-{name}"
        folder.mkdir()
        for file in ("core-site.xml", "hdfs-site.xml"):
            write_site(folder / file, settings)

    def _command(self, name: str, kind: str) -> list[str]:
        classes = os.pathsep.join([str(self._base / f"conf-{name}"), *map(str, self._classes)])
        return [str(self._java.home / "bin" / "java"), *SMALL_JVM, "-cp", classes, kind]

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


def hadoop_classes() -> list[Path]:
    """The code of Hadoop's servers, of the version that Spark's client has."""
    jars = Path(_find_spark_home()) / "jars"
    client = next(jars.glob("hadoop-client-api-*.jar"))
    version = client.stem.removeprefix("hadoop-client-api-")
    servers = fetched("org.apache.hadoop", "hadoop-client-minicluster", version)
    return [servers, *(jar for pattern in _LIBRARIES for jar in sorted(jars.glob(pattern)))]


def write_site(path: Path, settings: Mapping[str, object]) -> None:
    """A file of settings as Hadoop reads it."""
    rows = "".join(
        f"<property><name>{key}</name><value>{value}</value></property>"
        for key, value in settings.items()
    )
    path.write_text(f"<configuration>{rows}</configuration>")
