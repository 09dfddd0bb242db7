"""indexwriter kafka: a message a document. Its key is the URL, its value the fields as JSON, or
nothing where the document is deleted: a topic with `cleanup.policy=compact` is the index.

Every message, also one that deletes, has the header `version`: when the page was fetched, in
milliseconds. A job that died is repeated, so the same message may come twice; by key and version
nobody is misled.

confluent-kafka, as librdkafka batches, compresses and retries in threads of its own, beside a
task that is plain code; aiokafka wants an event loop, and packs messages in Python.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar
from zlib import crc32

from crawl.config import Config
from crawl.errors import ConfigError, EnvironmentFault, StorageError
from crawl.hints import install
from crawl.interfaces.indexwriter import NO_PARAMETERS, Flushed, IndexWriter, Shard, ShardWriter
from crawl.masking import secrets_of_settings
from crawl.model.documents import IndexDocument
from crawl.net.secret_mask import SecretMask
from crawl.plugins.indexwriter.shared.message import encoded_within
from crawl.plugins.indexwriter.shared.parameters import Parameters
from crawl.printable import one_line
from crawl.urls.parse import host_of

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message, Producer

VERSION = "version"
CUT = "cut"
"""The header with the names of fields that were too long for a message."""

_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
_COMPRESSIONS = ("zstd", "lz4", "snappy", "gzip", "none")
_KEYS = ("url", "host")
_LARGEST = 1_000_000
"""Bytes of a message that a broker takes as it is delivered (its message.max.bytes is a little
more)."""
_HEAD = 512
"""Bytes that a message has besides its key and its value."""
_OWN = {
    "bootstrap.servers": "brokers",
    "metadata.broker.list": "brokers",
    "compression.type": "compression",
    "compression.codec": "compression",
    "message.timeout.ms": "timeout",
    "delivery.timeout.ms": "timeout",
    "queue.buffering.max.kbytes": "queue_mb",
    "queue.buffering.max.messages": "queue_mb",
    "message.max.bytes": "max_message_bytes",
}
"""Properties of the client that are parameters here."""
_FIXED = ("acks", "request.required.acks", "enable.idempotence", "delivery.report.only.error")
_LIFE = re.compile(r" \(after \d+ms in state .*\)$")
_LOOK_S = 0.5
_SHOWN = 300
"""Characters of what a broker says, in a message."""
_MAX_REFUSED = 1000
"""Of a shard: where more documents are too long, something is set wrongly."""


class KafkaIndexWriter(IndexWriter):
    """Parameters: `topic` (nutria), `brokers` (localhost:9092), `partition_by` (url; or host),
    `compression` (zstd), `timeout` (120 s, of a delivery), `connect_timeout` (20 s), `queue_mb`
    (32), `max_message_bytes` (1,000,000), `properties` (a table of librdkafka's: security …)."""

    keeps_files: ClassVar[bool] = False
    own_parameters: ClassVar[tuple[str, ...]] = (
        *("topic", "brokers", "partition_by", "compression", "timeout", "connect_timeout"),
        *("queue_mb", "max_message_bytes", "properties"),
    )

    def __init__(self, config: Config, parameters: Mapping[str, Any] = NO_PARAMETERS) -> None:
        options = Parameters(parameters, self.own_parameters)
        self.topic = options.text("topic", "nutria")
        if not _TOPIC.fullmatch(self.topic) or self.topic in (".", ".."):
            raise ConfigError(
                f"topic: expected letters, digits, `.`, `_` and `-`, got {self.topic!r}"
            )
        self.brokers = ",".join(options.names("brokers", ("localhost:9092",)))
        if not self.brokers:
            raise ConfigError("brokers: there is none")
        self.by_host = options.choice("partition_by", _KEYS) == "host"
        self.timeout_s = options.number("timeout", 120, least=1)
        self.connect_timeout_s = options.number("connect_timeout", 20, least=1)
        self.largest = options.whole("max_message_bytes", _LARGEST, least=2000)
        queue_mb = options.whole("queue_mb", 32, least=1)
        properties = options.table("properties")
        for name in properties:
            if name in _OWN:
                raise ConfigError(f"properties: {name} is the parameter {_OWN[name]!r}")
            if name in _FIXED:
                raise ConfigError(
                    f"properties: {name} is set, so that nothing is lost or reordered"
                )
        self.mask = SecretMask(secrets_of_settings(properties))
        """Of all that brokers and the client say."""
        self.settings: dict[str, Any] = {
            "log_level": 0,  # what matters is told by one line
            "partitioner": "murmur2_random",  # Java's: others that write the topic agree
            "linger.ms": "50",
            "reconnect.backoff.max.ms": "2000",
            **properties,
            "bootstrap.servers": self.brokers,
            "enable.idempotence": "true",
            "acks": "all",
            "delivery.report.only.error": True,
            "compression.type": options.choice("compression", _COMPRESSIONS),
            "message.timeout.ms": str(int(self.timeout_s * 1000)),
            "message.max.bytes": str(max(self.largest, 1000)),
            "queue.buffering.max.kbytes": str(max(queue_mb << 10, 2 * self.largest >> 10)),
        }

    def check(self) -> None:
        _Client(self).partitions()

    def probe(self) -> None:
        _Client(self).require_topic()

    def open(self, shard: Shard) -> ShardWriter:
        client = _Client(self)
        return _KafkaShard(client, client.partitions() if self.by_host else 0, self.largest)

    def commit(self) -> None:
        pass  # a message is seen when the brokers have it


class _KafkaShard:
    def __init__(self, client: _Client, partitions: int, largest: int) -> None:
        self._client = client
        self._partitions = partitions
        self._largest = largest
        self._cut = 0

    def keep(self, count: int) -> None:
        pass

    def add(self, document: IndexDocument, *, replaces: bool) -> None:
        key = document.url.encode()
        fields = {**document.fields, VERSION: document.version}
        value, cut = encoded_within(fields, self._largest - len(key) - _HEAD)
        headers = {CUT: ",".join(cut)[: _HEAD // 2]} if cut else {}
        self._cut += bool(cut)
        self._send(document.url, key, value, document.version, headers)

    def delete(self, url: str, version: int) -> None:
        self._send(url, url.encode(), None, version, {})

    def _send(
        self, url: str, key: bytes, value: bytes | None, version: int, headers: dict[str, str]
    ) -> None:
        partition = -1
        if self._partitions:
            partition = crc32((host_of(url) or "").encode()) % self._partitions
        self._client.send(key, value, {VERSION: str(version), **headers}, partition)

    def flush(self) -> Flushed:
        refused = self._client.flush()
        counts = {CUT: self._cut, "rejected": len(refused)}
        self._cut = 0
        return Flushed(refused, {name: count for name, count in counts.items() if count})

    def close(self) -> None:
        self._client.flush()

    def abort(self) -> None:
        self._client.drop()


class _Client:
    """A producer, and what went wrong with it."""

    def __init__(self, writer: KafkaIndexWriter) -> None:
        try:
            import confluent_kafka
        except ImportError as error:
            raise EnvironmentFault(
                f"the index writer kafka needs confluent-kafka: {install('kafka')}"
            ) from error
        self._library = confluent_kafka
        self._writer = writer
        self._where = f"Kafka at {writer.brokers}"
        self._trouble = ""
        """The last that was said of a connection."""
        self._fault = ""
        """Why a message was not taken; the first."""
        self._lost = 0
        self._refused: dict[str, str] = {}
        """Documents that are too long for the brokers, and what they said."""
        self._of_long_batches: list[tuple[dict[str, str], Message]] = []
        settings = {**writer.settings, "error_cb": self._on_error}
        try:
            self._producer: Producer = confluent_kafka.Producer(settings)
        except (confluent_kafka.KafkaException, TypeError, ValueError) as error:
            raise ConfigError(f"properties: {self._line(error)}") from error

    def _on_error(self, error: KafkaError) -> None:
        if error.code() != self._library.KafkaError._ALL_BROKERS_DOWN or not self._trouble:
            self._trouble = self._shown(_LIFE.sub("", error.str()))

    def _on_delivery(
        self, headers: dict[str, str], error: KafkaError | None, message: Message
    ) -> None:
        if error is None:
            return
        is_long = error.code() == self._library.KafkaError.MSG_SIZE_TOO_LARGE
        if is_long and len(self._of_long_batches) < _MAX_REFUSED:
            self._of_long_batches.append((headers, message))  # its own are gone
            return
        self._lost += 1
        self._fault = self._fault or self._shown(error.str())

    def require_topic(self) -> None:
        """Raises one line where there is none; brokers that make a topic when they are asked for
        it are not asked."""
        if self._writer.topic not in self._topics(self._writer.connect_timeout_s):
            raise StorageError(f"{self._where} has no topic {self._writer.topic!r} yet")

    def _topics(self, timeout_s: float, topic: str | None = None) -> dict[str, Any]:
        """What brokers say of all topics, or of one that they may make then."""
        try:
            topics: dict[str, Any] = self._producer.list_topics(topic, timeout_s).topics
            return topics
        except self._library.KafkaException as error:
            self._producer.poll(0)  # has what is wrong told
            raise StorageError(
                f"{self._where} cannot be reached: {self._trouble or self._line(error)}"
            ) from error

    def partitions(self) -> int:
        """How many the topic has; raises one line where it cannot be written to."""
        deadline = time.monotonic() + self._writer.connect_timeout_s
        while True:
            rest = max(deadline - time.monotonic(), 0.1)
            reason = "it has no such topic"
            topic = self._topics(rest, self._writer.topic)[self._writer.topic]
            if topic.error is not None:
                reason = self._shown(topic.error.str())
            elif topic.partitions:
                reason = "a partition has no leader"
                if all(each.leader >= 0 for each in topic.partitions.values()):
                    return len(topic.partitions)
            # a topic that the question itself has made, or brokers that come up
            if time.monotonic() + _LOOK_S > deadline:
                raise StorageError(f"{self._where}: the topic {self._writer.topic!r}: {reason}")
            time.sleep(_LOOK_S)

    def send(
        self, key: bytes, value: bytes | None, headers: dict[str, str], partition: int
    ) -> None:
        """Puts a message into the queue; waits while that is full. Messages leave it after
        `timeout` at the latest, taken or not."""
        self._require_no_loss()
        while True:
            try:
                self._producer.produce(
                    self._writer.topic,
                    value,
                    key,
                    partition=partition,
                    on_delivery=partial(self._on_delivery, headers),
                    headers={name: text.encode() for name, text in headers.items()},
                )
            except BufferError:
                self._producer.poll(_LOOK_S)
                self._require_no_loss()
            except self._library.KafkaException as error:
                if error.args[0].code() != self._library.KafkaError.MSG_SIZE_TOO_LARGE:
                    raise StorageError(f"{self._where}: {self._line(error)}") from error
                self._refused[key.decode()] = self._line(error)
                return
            else:
                self._producer.poll(0)
                return

    def flush(self) -> dict[str, str]:
        """Returns when the brokers have every message but for those that are too long for them,
        which are told of."""
        self._wait()
        # of a batch that is too long all are refused: each is tried alone
        suspects, self._of_long_batches = self._of_long_batches, []
        for headers, message in suspects:
            key, value, partition = message.key() or b"", message.value(), message.partition()
            self.send(key, value, headers, -1 if partition is None else partition)
            self._wait()
            if self._of_long_batches:
                self._of_long_batches = []
                self._refused[key.decode()] = "it is longer than the topic's max.message.bytes"
        refused, self._refused = self._refused, {}
        return refused

    def _wait(self) -> None:
        """Until every message is taken or not."""
        # a message ends by itself after the timeout: the rest is for the report of that
        unsent = self._producer.flush(self._writer.timeout_s + 5)
        if unsent and not self._lost:
            self._lost, self._fault = unsent, "no answer"
        self._require_no_loss()

    def _require_no_loss(self) -> None:
        if self._lost:
            trouble = f" ({self._trouble})" if self._trouble else ""
            raise StorageError(
                f"{self._where} did not take documents for the topic {self._writer.topic!r}:"
                f" {self._fault}{trouble}; index again when it does"
            )

    def drop(self) -> None:
        """Forgets what was not sent."""
        self._producer.purge()
        self._producer.flush(_LOOK_S)

    def _line(self, error: Exception) -> str:
        first = error.args[0] if error.args else error
        return self._shown(first.str() if hasattr(first, "str") else str(first))

    def _shown(self, text: str) -> str:
        """What is said, as a message may repeat it."""
        return one_line(self._writer.mask.masked(text), _SHOWN)
