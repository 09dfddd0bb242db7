"""A real Kafka on loopback (one broker that is its own controller), which can be killed and started
again. Its code is fetched by Maven."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from crawl.spark.java import find_java
from tests.free_port import LOOPBACK, free_port
from tests.maven import fetched_with_dependencies

_JARS = ("org.apache.kafka:kafka_2.13:4.1.0", "org.slf4j:slf4j-simple:1.7.36")
_JVM = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
_CLUSTER = "MkU3OEVBNTcwNTJENDM2Qg"
_LOOKS = 600


class RealKafka:
    """A broker that runs, unless it was killed."""

    def __init__(self, base: Path) -> None:
        self._base = base
        self._process: subprocess.Popen[bytes] | None = None
        self.port, controller = free_port(), free_port()
        self.address = f"{LOOPBACK}:{self.port}"
        settings = {
            "process.roles": "broker,controller",
            "node.id": 1,
            "controller.quorum.bootstrap.servers": f"{LOOPBACK}:{controller}",
            "listeners": f"PLAINTEXT://{self.address},CONTROLLER://{LOOPBACK}:{controller}",
            "advertised.listeners": (
                f"PLAINTEXT://{self.address},CONTROLLER://{LOOPBACK}:{controller}"
            ),
            "controller.listener.names": "CONTROLLER",
            "log.dirs": base / "logs",
            "auto.create.topics.enable": "false",
            "offsets.topic.replication.factor": 1,
            "offsets.topic.num.partitions": 1,
            "transaction.state.log.replication.factor": 1,
            "transaction.state.log.min.isr": 1,
            "share.coordinator.state.topic.replication.factor": 1,
            "share.coordinator.state.topic.min.isr": 1,
            "group.initial.rebalance.delay.ms": 0,
        }
        self._file = base / "server.properties"
        self._file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))

    def format(self) -> None:
        arguments = ["format", "--standalone", "-t", _CLUSTER, "-c", str(self._file)]
        command = [*self._java("kafka.tools.StorageTool"), *arguments]
        with self._log.open("ab") as log:
            subprocess.run(command, check=True, stdout=log, stderr=log, timeout=600)

    def start(self) -> None:
        """Returns when it answers."""
        self.start_soon()
        self.wait()

    def start_soon(self) -> None:
        assert self._process is None
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*self._java("kafka.Kafka"), str(self._file)],
                stdout=log,
                stderr=log,
                cwd=self._base,
            )

    def wait(self) -> None:
        client = Producer({"bootstrap.servers": self.address, "log_level": 0})
        for _ in range(_LOOKS):
            process = self._process
            assert process and process.poll() is None, self._log.read_text()[-3000:]
            try:
                client.list_topics(timeout=1)
            except KafkaException:
                continue
            return
        raise AssertionError(f"Kafka does not get ready: {self._log.read_text()[-3000:]}")

    def kill(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()

    def new_topic(self, name: str, partitions: int, settings: Mapping[str, str]) -> None:
        admin = AdminClient({"bootstrap.servers": self.address, "log_level": 0})
        topic = NewTopic(name, partitions, 1, config=dict(settings))
        (made,) = admin.create_topics([topic]).values()
        made.result(60)

    @property
    def _log(self) -> Path:
        return self._base / "kafka.log"

    def _java(self, main: str) -> list[str]:
        jars = f"{fetched_with_dependencies(*_JARS)}/*"
        java = str(find_java().home / "bin" / "java")
        quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
        return [java, *_JVM, "-Xmx400m", quiet, "-cp", jars, main]


@contextmanager
def running_kafka() -> Iterator[RealKafka]:
    """A broker for the time of a block; nothing of it is left after."""
    with tempfile.TemporaryDirectory(prefix="kafka-", ignore_cleanup_errors=True) as base:
        kafka = RealKafka(Path(base))
        try:
            kafka.format()
            kafka.start()
            yield kafka
        finally:
            kafka.kill()
