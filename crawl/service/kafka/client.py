"""Connections to Kafka: confluent-kafka, with everything set by which nothing is lost."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from crawl.clock import Clock
from crawl.errors import ConfigError, EnvironmentFault, StorageError
from crawl.hints import install
from crawl.printable import one_line
from crawl.service.kafka.values import KafkaSettings

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

_SHOWN = 300
"""Characters of what a broker or the client says, in a message of ours."""
_LOOK_S = 0.2
_CHECK_S = 3.0
_START_S = 60.0
"""So long brokers may take to be there when a role starts."""
_LEAVE_S = 30.0
"""Longer than any broker takes that answers at all."""
_OVERHEAD = 4096
"""Bytes of a message beside its value and its key, generously."""

_log = logging.getLogger(__name__)


def require_kafka() -> None:
    """EnvironmentFault where the extra is not installed."""
    try:
        import confluent_kafka  # noqa: F401
    except ImportError as error:
        raise EnvironmentFault(f"Kafka needs confluent-kafka: {install('kafka')}") from error


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message on its way."""

    topic: str
    value: bytes | None
    key: bytes | None = None
    partition: int = -1
    """-1: by the key."""


@dataclass(frozen=True, slots=True)
class Kafka:
    """Makes clients. What they say of connections is kept, to be told where one fails."""

    settings: KafkaSettings
    said: list[str] = field(default_factory=list)

    @property
    def where(self) -> str:
        return f"Kafka at {self.settings.servers}"

    def sender(self, timeout_s: float | None) -> Sender:
        """A producer whose messages fail after a while; None: it tries until it is closed."""
        from confluent_kafka import KafkaException, Producer

        given = self.common() | {
            "enable.idempotence": "true",
            "acks": "all",
            "linger.ms": "2",
            "compression.type": "lz4",
            "message.timeout.ms": str(round((timeout_s or 0) * 1000)),
            "message.max.bytes": str(self.settings.message_bytes + _OVERHEAD),
            "queue.buffering.max.kbytes": str(max(65_536, self.settings.message_bytes >> 8)),
            "partitioner": "murmur2_random",
        }
        try:
            return Sender(Producer(given), self)
        except (KafkaException, TypeError, ValueError) as error:
            raise ConfigError(f"service.kafka: {self.line(error)}") from error

    def consumer(self, group: str, further: dict[str, Any] | None = None) -> Consumer:
        """A member of a group, or a reader with a name where it joins none. It begins with the
        oldest message where its group has read none yet, and commits only what it is told."""
        from confluent_kafka import Consumer, KafkaException

        session_ms = round(self.settings.session_s * 1000)
        given = self.common() | {
            "group.id": f"{self.settings.topics.prefix}.{group}",
            "group.protocol": "classic",  # takes over within its session; the new one in 45 s
            "session.timeout.ms": str(session_ms),
            "heartbeat.interval.ms": str(max(100, session_ms // 6)),
            "enable.auto.commit": "false",
            "enable.auto.offset.store": "false",
            "auto.offset.reset": "earliest",
            "fetch.message.max.bytes": str(max(1 << 20, self.settings.message_bytes)),
            "queued.max.messages.kbytes": str(max(16_384, self.settings.message_bytes >> 8)),
            "queued.min.messages": "1000",
            "fetch.wait.max.ms": "100",
            "fetch.error.backoff.ms": "100",
            **(further or {}),
        }
        try:
            return Consumer(given)
        except (KafkaException, TypeError, ValueError) as error:
            raise ConfigError(f"service.kafka: {self.line(error)}") from error

    def common(self) -> dict[str, Any]:
        """The properties of every client."""
        return {
            "log_level": 0,  # what matters is told by one line
            "reconnect.backoff.ms": "50",
            "reconnect.backoff.max.ms": "1000",
            "socket.timeout.ms": "10000",
            "client.id": "nutria",
            "bootstrap.servers": self.settings.servers,
            "error_cb": self._on_error,
            **self.settings.properties,
        }

    def _on_error(self, error: KafkaError) -> None:
        self.said[:] = [self.shown(error.str())]

    def line(self, error: BaseException) -> str:
        """What an exception of the client says."""
        first = error.args[0] if error.args else error
        return self.shown(first.str() if hasattr(first, "str") else str(first))

    def shown(self, text: str) -> str:
        """What somebody else says, as a message may repeat it."""
        return one_line(self.settings.mask.masked(text), _SHOWN)

    def unreachable(self, error: BaseException) -> StorageError:
        said = f" ({self.said[0]})" if self.said else ""
        return StorageError(f"{self.where} cannot be reached: {self.line(error)}{said}")


class Sender:
    """A producer with a thread that hears what became of its messages. For several threads."""

    def __init__(self, producer: Any, kafka: Kafka) -> None:
        from confluent_kafka import KafkaException

        self._producer = producer
        self._kafka = kafka
        self._exception = KafkaException
        self._is_closed = threading.Event()
        self._thread = threading.Thread(target=self._hear, name="kafka-sender", daemon=True)
        self._thread.start()

    def send(self, message: Outgoing, on_done: Callable[[str], None]) -> None:
        """Sends one; waits while the client's queue is full. `on_done` is told, by another thread,
        an empty text when the brokers have it, or why they never will; quickly. StorageError where
        it cannot be sent at all."""

        def delivered(error: KafkaError | None, message: Message) -> None:
            on_done("" if error is None else self._kafka.shown(error.str()))

        while True:
            if self._is_closed.is_set():
                raise StorageError(f"{self._kafka.where}: the service ends")
            try:
                self._producer.produce(
                    message.topic,
                    message.value,
                    message.key,
                    partition=message.partition,
                    on_delivery=delivered,
                )
            except BufferError:
                self._is_closed.wait(0.01)
            except self._exception as error:
                raise StorageError(
                    f"{self._kafka.where}: {message.topic}: {self._kafka.line(error)}"
                ) from error
            else:
                return

    def send_all(self, messages: Sequence[Outgoing]) -> Future[int]:
        """Sends some; done, with their number, when the brokers have all of them. A StorageError
        where one was not taken: others may have been."""
        future: Future[int] = Future()
        future.set_running_or_notify_cancel()
        waited = _Waited(len(messages), future, self._kafka.where)
        if not messages:
            future.set_result(0)
        for message in messages:
            try:
                self.send(message, waited.on_done)
            except StorageError as error:
                waited.on_done(str(error))
        return future

    def check(self) -> None:
        """StorageError where no broker answers."""
        try:
            self._producer.list_topics(timeout=_CHECK_S)
        except self._exception as error:
            raise self._kafka.unreachable(error) from error

    def partitions_of(self, topic: str) -> int:
        """How many there are; 0 where there is no such topic."""
        try:
            known = self._producer.list_topics(topic, _CHECK_S).topics[topic]
        except self._exception as error:
            raise self._kafka.unreachable(error) from error
        return 0 if known.error is not None else len(known.partitions)

    @property
    def unsent(self) -> int:
        return len(self._producer)

    def flush(self, timeout_s: float) -> bool:
        """Waits until what was sent is delivered; whether it is."""
        left: int = self._producer.flush(timeout_s)
        return left == 0

    def close(self, timeout_s: float = 0.0) -> None:
        """Ends; what is not delivered after a while is given up, and its sender told."""
        if self._is_closed.is_set():
            return
        if timeout_s:
            self._producer.flush(timeout_s)
        self._is_closed.set()
        self._thread.join()
        self._producer.purge()
        self._producer.flush(1.0)

    def _hear(self) -> None:
        while not self._is_closed.is_set():
            self._producer.poll(_LOOK_S)


class _Waited:
    """Counts deliveries."""

    def __init__(self, count: int, future: Future[int], where: str) -> None:
        self._count = self._left = count
        self._future = future
        self._where = where
        self._fault = ""
        self._lock = threading.Lock()

    def on_done(self, fault: str) -> None:
        with self._lock:
            self._left -= 1
            self._fault = self._fault or fault
            if self._left:
                return
        if self._fault:
            self._future.set_exception(
                StorageError(f"{self._where} did not take all: {self._fault}")
            )
        else:
            self._future.set_result(self._count)


def consumed(consumer: Consumer, most: int, timeout_s: float) -> list[Message]:
    """What there is, some messages at the most; waits for the first alone. The client's own
    `consume` would wait for all of them."""
    first = consumer.poll(timeout_s)
    if first is None:
        return []
    return [first, *(consumer.consume(most - 1, 0) if most > 1 else ())]


def left_within(
    consumer: Consumer, first: Callable[[], None] = lambda: None, seconds: float = _LEAVE_S
) -> bool:
    """Leaves the consumer's group, after something that comes `first`; whether it was left in so
    much time. The client waits without a bound for a broker that dies at that moment: the group
    finds out by itself then, and what was not committed is read again."""

    def leave() -> None:
        try:
            first()
        finally:
            consumer.close()

    thread = threading.Thread(target=leave, name="kafka-leave", daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        _log.warning("Kafka did not answer when its group was left; it finds out by itself")
    return not thread.is_alive()


def committed_now(
    consumer: Consumer, offsets: list[TopicPartition], probe_s: float
) -> list[TopicPartition]:
    """Commits, and waits for the answer; KafkaException where nobody answers. It may be called by
    a callback of the consumer."""
    # A commit that is waited for has no bound of its own: first whether anybody answers. By this
    # question and no other: after `list_topics` in a callback of the same consumer, the next
    # callback of the same poll ends the process (confluent-kafka 2.16: an assertion in C); and
    # `committed` is not answered while the consumer leaves its group.
    consumer.get_watermark_offsets(offsets[0], timeout=probe_s)
    return consumer.commit(offsets=offsets, asynchronous=False)


def prepare_topics(kafka: Kafka, sender: Sender, clock: Clock, stopping: threading.Event) -> int:
    """Makes the topics that are missing, and waits for brokers that come up; how many partitions
    the jobs have."""
    deadline = clock.monotonic() + _START_S
    while True:
        try:
            return _prepare(kafka, sender)
        except StorageError:
            if clock.monotonic() > deadline or stopping.wait(_LOOK_S):
                raise


def _prepare(kafka: Kafka, sender: Sender) -> int:
    from confluent_kafka import KafkaError, KafkaException
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic

    settings, topics = kafka.settings, kafka.settings.topics
    sender.check()
    jobs = sender.partitions_of(topics.jobs) or settings.partitions
    hosts = sender.partitions_of(topics.hosts)
    if hosts not in (0, jobs):
        raise ConfigError(
            f"{kafka.where}: {topics.hosts} has {hosts} partitions, {topics.jobs} has {jobs}:"
            " they must be as many"
        )
    kept = {"retention.ms": str(round(settings.retention_s * 1000))}
    large = {"max.message.bytes": str(settings.message_bytes + _OVERHEAD)}
    wanted = {
        topics.wishes: (settings.partitions, kept),
        topics.refused: (1, kept),
        topics.jobs: (jobs, kept),
        topics.results: (settings.partitions, kept | large),
        topics.finished: (settings.partitions, kept | large),
        topics.hosts: (jobs, {"cleanup.policy": "compact", "segment.ms": "600000"}),
    }
    missing = [
        NewTopic(name, count, settings.replication, config=config)
        for name, (count, config) in wanted.items()
        if not sender.partitions_of(name)
    ]
    if not missing:
        return jobs
    admin = AdminClient(kafka.common())
    for name, made in admin.create_topics(missing).items():
        try:
            made.result(_CHECK_S * 3)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise StorageError(
                    f"{kafka.where}: {name} cannot be made: {kafka.line(error)}"
                ) from error
        except TimeoutError as error:
            raise kafka.unreachable(error) from error
    for name in wanted:
        if not sender.partitions_of(name):
            raise StorageError(f"{kafka.where}: {name} is not there yet")
    return sender.partitions_of(topics.jobs)
