"""A real Cassandra of one node on loopback, which can be killed and started again. Its code is
fetched by Maven."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event

from cassandra import DriverException
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, NoHostAvailable
from cassandra.policies import DCAwareRoundRobinPolicy

from crawl.spark.java import find_java
from tests.free_port import LOOPBACK, free_port
from tests.maven import fetched_with_dependencies

DATA_CENTRE = "datacenter1"
_JARS = "org.apache.cassandra:cassandra-all:5.0.5"
_JVM = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Xmx768m",
    "-Dcassandra.skip_wait_for_gossip_to_settle=0",
    "-Dcassandra.ring_delay_ms=1",
    "-Dcassandra.superuser_setup_delay_ms=0",
)
# what Cassandra's own script gives to Java 17
_EXPORTS = (
    "java.base/java.lang.ref",
    "java.base/jdk.internal.misc",
    "java.base/jdk.internal.ref",
    "java.base/sun.nio.ch",
    "java.management.rmi/com.sun.jmx.remote.internal.rmi",
    "java.rmi/sun.rmi.registry",
    "java.rmi/sun.rmi.server",
    "java.sql/java.sql",
    "jdk.unsupported/sun.misc",
)
_OPENS = (
    "java.base/java.io",
    "java.base/java.lang",
    "java.base/java.lang.module",
    "java.base/java.lang.reflect",
    "java.base/java.net",
    "java.base/java.nio",
    "java.base/java.util",
    "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic",
    "java.base/jdk.internal.loader",
    "java.base/jdk.internal.math",
    "java.base/jdk.internal.module",
    "java.base/jdk.internal.ref",
    "java.base/jdk.internal.reflect",
    "java.base/jdk.internal.util.jar",
    "java.base/sun.nio.ch",
    "java.rmi/sun.rmi.transport.tcp",
    "jdk.management/com.sun.management.internal",
)
_LOOKS = 600


class RealCassandra:
    """A node that runs, unless it was killed."""

    def __init__(self, base: Path) -> None:
        self._base = base
        self._process: subprocess.Popen[bytes] | None = None
        self.port, self._storage_port, self._jmx_port = free_port(), free_port(), free_port()
        settings = {
            "cluster_name": "tests",
            "num_tokens": 1,
            "partitioner": "org.apache.cassandra.dht.Murmur3Partitioner",
            "endpoint_snitch": "SimpleSnitch",
            "seed_provider": [
                {
                    "class_name": "org.apache.cassandra.locator.SimpleSeedProvider",
                    "parameters": [{"seeds": f"{LOOPBACK}:{self._storage_port}"}],
                }
            ],
            "listen_address": LOOPBACK,
            "rpc_address": LOOPBACK,
            "storage_port": self._storage_port,
            "native_transport_port": self.port,
            "data_file_directories": [str(base / "data")],
            "commitlog_directory": str(base / "commitlog"),
            "saved_caches_directory": str(base / "saved_caches"),
            "hints_directory": str(base / "hints"),
            "cdc_raw_directory": str(base / "cdc_raw"),
            # as it is delivered, a node acknowledges what a kill may make it forget
            "commitlog_sync": "group",
            "commitlog_sync_group_window": "5ms",
            "auto_snapshot": False,
            # a busy machine is no fault
            **dict.fromkeys(
                (
                    "read_request_timeout",
                    "range_request_timeout",
                    "write_request_timeout",
                    "cas_contention_timeout",
                    "truncate_request_timeout",
                    "request_timeout",
                ),
                "60s",
            ),
        }
        # JSON is YAML
        (base / "cassandra.yaml").write_text(json.dumps(settings))

    @property
    def url(self) -> str:
        return f"cassandra://{LOOPBACK}:{self.port}/nutria?dc={DATA_CENTRE}&timeout=60"

    def start(self) -> None:
        """Returns when it answers."""
        assert self._process is None
        lib = fetched_with_dependencies(_JARS)
        (agent,) = lib.glob("jamm-*.jar")
        options = [
            *(f"--add-exports={each}=ALL-UNNAMED" for each in _EXPORTS),
            *(f"--add-opens={each}=ALL-UNNAMED" for each in _OPENS),
            f"-javaagent:{agent}",
            f"-Dcassandra.config=file://{self._base / 'cassandra.yaml'}",
            f"-Dcassandra.storagedir={self._base}",
            f"-Dcassandra.jmx.local.port={self._jmx_port}",
            f"-Djava.io.tmpdir={self._base}",
        ]
        java = str(find_java().home / "bin" / "java")
        main = "org.apache.cassandra.service.CassandraDaemon"
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [java, *_JVM, *options, "-cp", f"{lib}/*", main],
                stdout=log,
                stderr=log,
                cwd=self._base,
            )
        pause = Event()
        for _ in range(_LOOKS):
            assert self._process.poll() is None, self._log.read_text()[-3000:]
            try:
                with self.cluster() as cluster:
                    cluster.connect()
            except (DriverException, NoHostAvailable, OSError):
                pause.wait(0.5)
            else:
                return
        raise AssertionError(f"Cassandra does not get ready: {self._log.read_text()[-3000:]}")

    def kill(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()

    def cluster(self) -> Cluster:
        """A client, to be closed by a block."""
        policy = DCAwareRoundRobinPolicy(DATA_CENTRE)
        profile = ExecutionProfile(load_balancing_policy=policy, request_timeout=60)
        return Cluster(
            [LOOPBACK], port=self.port, execution_profiles={EXEC_PROFILE_DEFAULT: profile}
        )

    @property
    def _log(self) -> Path:
        return self._base / "cassandra.log"


@contextmanager
def running_cassandra() -> Iterator[RealCassandra]:
    """A node for the time of a block; nothing of it is left after."""
    with tempfile.TemporaryDirectory(prefix="cassandra-", ignore_cleanup_errors=True) as base:
        node = RealCassandra(Path(base))
        try:
            node.start()
            yield node
        finally:
            node.kill()
