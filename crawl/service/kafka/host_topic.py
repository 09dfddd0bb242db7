"""What servers are owed, for whoever owns their domains next: a compacted topic, a partition of it
for each of the jobs.

Beside the servers it has two marks for each partition: who began to own it, and who ended in good
order. Where the two differ, the last owner died, or was cut off, and may have asked anybody until
its lease was over.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from crawl.clock import Clock
from crawl.errors import StorageError
from crawl.fetcher.frontier.queue import ServerState
from crawl.service.kafka.client import Kafka, Outgoing, Sender, consumed
from crawl.service.kafka.messages import (
    HostMessage,
    host_message,
    host_message_of,
    owner_message,
    state_of,
)

_BEGUN, _ENDED = b"!begun", b"!ended"
_SKEW_S = 1.0
"""By so much the clocks of two machines may differ without a server being asked too soon."""
_READ_S = 15.0


@dataclass(slots=True)
class Inheritance:
    """What the owners of a partition before have left."""

    states: dict[str, HostMessage] = field(default_factory=dict)
    begun: str = ""
    ended: str = ""

    @property
    def is_clean(self) -> bool:
        """Whether the last owner ended in good order, or there was none."""
        return self.begun == self.ended

    def take(self, key: bytes, raw: bytes | None) -> None:
        """Takes a message in; ValueError for what is none."""
        if raw is None:
            self.states.pop(key.decode(), None)
            return
        message = host_message_of(raw)
        if key == _BEGUN:
            self.begun = message.owner
        elif key == _ENDED:
            self.ended = message.owner
        elif message.state is not None:
            self.states[key.decode()] = message

    def owed(self, now_ms: int) -> list[ServerState]:
        """What the servers are owed now."""
        states = (state_of(message, now_ms, _SKEW_S) for message in self.states.values())
        return [each for each in states if each is not None]


def read_inheritance(
    kafka: Kafka, clock: Clock, partitions: Iterable[int]
) -> dict[int, Inheritance]:
    """Reads partitions to their ends; StorageError where that takes too long."""
    from confluent_kafka import KafkaException, TopicPartition

    topic = kafka.settings.topics.hosts
    found = {partition: Inheritance() for partition in partitions}
    reader = kafka.consumer("hosts-reader", {"fetch.wait.max.ms": "20"})
    deadline = clock.monotonic() + _READ_S
    try:
        ends: dict[int, int] = {}
        begin: list[TopicPartition] = []
        for partition in found:
            place = TopicPartition(topic, partition)
            low, high = reader.get_watermark_offsets(place, timeout=_READ_S)
            if high > low:
                ends[partition] = high
                begin.append(TopicPartition(topic, partition, low))
        if begin:
            reader.assign(begin)
        while ends:
            for message in consumed(reader, 1000, 0.1):
                key, number = message.key(), message.partition()
                if message.error() is None and key is not None and number is not None:
                    found[number].take(key, message.value())
            # a mark or a gap of the compaction is no message, but moves the position
            for at in reader.position(begin):
                if at.offset >= ends.get(at.partition, 1 << 62):
                    del ends[at.partition]
            if ends and clock.monotonic() > deadline:
                raise StorageError(f"{kafka.where}: {topic} cannot be read to its end")
    except KafkaException as error:
        raise kafka.unreachable(error) from error
    except ValueError as error:
        raise StorageError(f"{kafka.where}: {topic}: {error}") from error
    finally:
        reader.close()
    return found


class HostTopic:
    """Tells what this process's servers are owed. For one thread."""

    def __init__(
        self,
        kafka: Kafka,
        sender: Sender,
        clock: Clock,
        usual_pause_s: float,
        partition_of: Callable[[str], int],
    ) -> None:
        self._topic = kafka.settings.topics.hosts
        self._partition_of = partition_of
        self._sender = sender
        self._clock = clock
        self._usual_pause_s = usual_pause_s
        self._told: dict[str, tuple[object, ...]] = {}

    def begin(self, partitions: Iterable[int], owner: str, timeout_s: float) -> None:
        """Says who owns partitions from now on; StorageError where that is not known to be
        stored. Before it is, nobody may be asked."""
        message = owner_message(owner, self._clock.now_ms())
        marks = [Outgoing(self._topic, message, _BEGUN, partition) for partition in partitions]
        try:
            self._sender.send_all(marks).result(timeout_s)
        except TimeoutError as error:
            raise StorageError(f"{self._topic} cannot be written to") from error

    def tell(self, states: Mapping[str, ServerState]) -> None:
        """Tells what has changed of servers of one's own, as far as a new owner could not know it:
        the usual pause it keeps anyway, from the moment on when it takes over."""
        now_ms = self._clock.now_ms()
        worth: set[str] = set()
        for key, state in states.items():
            is_long = state.pause_s > 1.5 * self._usual_pause_s + 1
            if not (state.exceptions or state.closed_reason or state.min_delay_s or is_long):
                continue
            worth.add(key)
            until_s = round(now_ms / 1000 + state.pause_s) if is_long else 0
            said = state.exceptions, state.closed_reason, state.min_delay_s, until_s
            if self._told.get(key) != said:
                self._told[key] = said
                self._send(key, host_message(state, now_ms))
        for key in self._told.keys() - worth:
            del self._told[key]
            self._send(key, None)

    def end(
        self, states: Mapping[str, ServerState], partitions: Collection[int], owner: str
    ) -> None:
        """Leaves partitions to the next owner, with everything that is owed at this moment."""
        now_ms = self._clock.now_ms()
        for key in [key for key in self._told if self._partition_of(key) in partitions]:
            del self._told[key]
            if key not in states:
                self._send(key, None)
        for key, state in states.items():
            self._send(key, host_message(state, now_ms))
        for partition in partitions:
            # within a partition what is sent later is read later
            mark = Outgoing(self._topic, owner_message(owner, now_ms), _ENDED, partition)
            self._sender.send(mark, lambda fault: None)

    def forget(self) -> None:
        """The partitions are somebody else's: nothing more is told of their servers."""
        self._told.clear()

    def _send(self, key: str, value: bytes | None) -> None:
        message = Outgoing(self._topic, value, key.encode(), self._partition_of(key))
        self._sender.send(message, lambda fault: None)
