"""A fetching process in its group: which partitions of the jobs are its own, and for how long.

A partition that it is given is opened before anything of it is asked for: what its servers are owed
is read, and that it is this process's is stored. One that is taken away is closed before another is
given it: nothing more is sent, what is under way is waited for, and what is owed is left behind.
One that is lost (the process stood still, or was cut off) is somebody else's already.
"""

from __future__ import annotations

import logging
import secrets
import threading
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from crawl.clock import Clock
from crawl.counters import Counters
from crawl.errors import StorageError
from crawl.service.kafka.client import Kafka, committed_now, consumed, left_within
from crawl.service.kafka.host_topic import Inheritance, read_inheritance
from crawl.service.kafka.lease import Lease

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message, TopicPartition

GROUP = "fetch"
_BATCH = 500
_POLL_S = 0.05
_ASK_S = 5.0
"""For an answer of a broker."""
_PROBE_S = 2.0
_CARE_S = 1.0
_RENEWALS = 12
"""Of the lease, in a session."""

_log = logging.getLogger(__name__)


class Owner(Protocol):
    """What a process does with its partitions. Called by the thread of the membership."""

    def begin(self, partition: int, first: int, left: Inheritance, mark: str) -> None:
        """Owns a partition from now on; StorageError where that could not be stored."""

    def take(self, message: Message) -> None:
        """Takes a message of a partition that it owns."""

    def has_room(self) -> bool:
        """Whether more messages may come."""

    def end(self, marks: Mapping[int, str]) -> dict[int, int]:
        """Lets go of partitions in good order; up to where they are done with."""

    def lose(self, partitions: Collection[int]) -> None:
        """Partitions are somebody else's."""

    def positions(self) -> dict[int, int]:
        """The offsets to commit."""

    def care(self) -> None:
        """Does what is to be done now and then."""


class Membership:
    """Runs in a thread of its own, until it is stopped."""

    def __init__(
        self, kafka: Kafka, lease: Lease, owner: Owner, clock: Clock, counters: Counters
    ) -> None:
        self._kafka = kafka
        self._lease = lease
        self._owner = owner
        self._clock = clock
        self._counters = counters
        self._marks: dict[int, str] = {}
        """Of each time that a partition was opened: none is like another."""
        self._topic = kafka.settings.topics.jobs
        self._renew_s = kafka.settings.session_s / _RENEWALS
        self._unopened: set[int] = set()
        self._opened: set[int] = set()
        self._early: list[Message] = []
        """Of partitions that are not open yet."""
        self._is_full = False
        self._renew_at = self._care_at = float("-inf")
        self._open_at = float("-inf")
        self._stopping = threading.Event()
        self._consumer = kafka.consumer(
            GROUP,
            {
                "partition.assignment.strategy": "cooperative-sticky",
                "on_commit": self._on_commit,
            },
        )

    def stop(self) -> None:
        self._stopping.set()

    @property
    def opened(self) -> Sequence[int]:
        return sorted(self._opened)

    def run(self) -> None:
        """Reads until it is stopped; then the partitions are left in good order."""
        self._consumer.subscribe(
            [self._topic],
            on_assign=self._on_assign,
            on_revoke=self._on_revoke,
            on_lost=self._on_lost,
        )
        try:
            while not self._stopping.is_set():
                for message in consumed(self._consumer, _BATCH, _POLL_S):
                    self._take(message)
                self._renew()
                self._open()
                self._hold_back()
                if self._clock.monotonic() >= self._care_at:
                    self._owner.care()
                    self._care_at = self._clock.monotonic() + _CARE_S
        finally:
            left_within(self._consumer)

    # messages

    def _take(self, message: Message) -> None:
        if message.error() is not None:
            return
        if message.partition() in self._opened:
            self._owner.take(message)
        elif message.partition() in self._unopened:
            self._early.append(message)

    def _hold_back(self) -> None:
        """Lets nothing more come while enough is held; the rest waits at the brokers."""
        is_full = not self._owner.has_room()
        if is_full != self._is_full and self._opened:
            self._is_full = is_full
            self._pause(self._opened, is_paused=is_full)

    def _pause(self, partitions: Collection[int], *, is_paused: bool) -> None:
        from confluent_kafka import KafkaException

        places = [self._place(partition) for partition in partitions]
        try:
            (self._consumer.pause if is_paused else self._consumer.resume)(places)
        except KafkaException as error:
            _log.warning("%s: %s", self._kafka.where, self._kafka.line(error))

    def _place(self, partition: int, offset: int | None = None) -> TopicPartition:
        from confluent_kafka import OFFSET_INVALID, TopicPartition

        return TopicPartition(self._topic, partition, OFFSET_INVALID if offset is None else offset)

    # the lease

    def _renew(self) -> None:
        """Asks for a proof that this process is a member of its group still."""
        from confluent_kafka import KafkaException

        now = self._clock.monotonic()
        positions = self._owner.positions()
        if now < self._renew_at or not positions or not self._lease.asks(now):
            return
        self._renew_at = now + self._renew_s
        offsets = [self._place(partition, offset) for partition, offset in positions.items()]
        try:
            self._consumer.commit(offsets=offsets, asynchronous=True)
        except KafkaException as error:
            _log.warning("%s: %s", self._kafka.where, self._kafka.line(error))
            self._lease.answered(is_taken=False)

    def _on_commit(self, error: KafkaError | None, offsets: list[TopicPartition]) -> None:
        is_taken = error is None and all(each.error is None for each in offsets)
        self._lease.answered(is_taken=is_taken)
        if not is_taken:
            # such as ILLEGAL_GENERATION in a rebalance, or a broker that is away
            self._counters["lease_not_renewed"] += 1

    # partitions

    def _on_assign(self, consumer: Any, given: list[TopicPartition]) -> None:
        partitions = {each.partition for each in given}
        if not partitions:
            return
        consumer.incremental_assign(given)
        self._pause(partitions, is_paused=True)
        self._unopened |= partitions
        self._open_at = float("-inf")

    def _open(self) -> None:
        """Opens what was given; tried again where the brokers do not answer."""
        from confluent_kafka import KafkaException

        now = self._clock.monotonic()
        if not self._unopened or now < self._open_at:
            return
        self._open_at = now + 1.0
        try:
            firsts = self._firsts(sorted(self._unopened))
            inherited = read_inheritance(self._kafka, self._clock, sorted(self._unopened))
            for partition in sorted(self._unopened):
                left, mark = inherited[partition], secrets.token_hex(8)
                self._owner.begin(partition, firsts[partition], left, mark)
                self._marks[partition] = mark
                self._unopened.remove(partition)
                self._opened.add(partition)
                self._counters["partitions_taken"] += 1
                if not left.is_clean:
                    self._counters["partitions_taken_over"] += 1
                if not self._is_full:
                    self._pause([partition], is_paused=False)
        except (StorageError, KafkaException) as error:
            _log.warning("partitions wait to be opened: %s", self._kafka.line(error))
        early, self._early = self._early, []
        for message in early:
            self._take(message)

    def _firsts(self, partitions: Sequence[int]) -> dict[int, int]:
        """Where each is to be read from: what was committed, or its oldest message."""
        places = [self._place(partition) for partition in partitions]
        firsts = {}
        for place in self._consumer.committed(places, timeout=_ASK_S):
            first = place.offset
            if first < 0:
                low, _ = self._consumer.get_watermark_offsets(place, timeout=_ASK_S)
                first = max(0, low)
            firsts[place.partition] = first
        return firsts

    def _on_revoke(self, consumer: Any, taken: list[TopicPartition]) -> None:
        partitions = {each.partition for each in taken}
        ended = partitions & self._opened
        if ended and self._is_member(ended):
            self._commit(self._owner.end({each: self._marks[each] for each in ended}))
            self._counters["partitions_given_away"] += len(ended)
        elif ended:
            # another may be at work: what is owed is not this process's to say any more
            self._owner.lose(ended)
            self._counters["partitions_lost"] += len(ended)
        self._forget(partitions)
        if partitions:
            consumer.incremental_unassign(taken)

    def _is_member(self, partitions: Collection[int]) -> bool:
        """Whether nobody else can own these partitions yet: by the lease, or, where no proof of
        life has come since they were opened, by one that is waited for."""
        if self._lease.holds(self._clock.monotonic()):
            return True
        positions = self._owner.positions()
        return self._commit({each: positions[each] for each in partitions if each in positions})

    def _commit(self, positions: dict[int, int]) -> bool:
        """Commits, and waits for the answer; whether the group took it."""
        from confluent_kafka import KafkaException

        if not positions:
            return False
        offsets = [self._place(partition, offset) for partition, offset in positions.items()]
        try:
            done = committed_now(self._consumer, offsets, _PROBE_S)
        except KafkaException as error:
            _log.info("jobs may be done twice: %s", self._kafka.line(error))
            return False
        return all(each.error is None for each in done)

    def _on_lost(self, consumer: Any, lost: list[TopicPartition]) -> None:
        partitions = {each.partition for each in lost}
        self._lease.lose()
        self._counters["partitions_lost"] += len(partitions & self._opened)
        self._owner.lose(partitions)
        self._forget(partitions)
        if partitions:
            consumer.incremental_unassign(lost)

    def _forget(self, partitions: Collection[int]) -> None:
        self._opened.difference_update(partitions)
        self._unopened.difference_update(partitions)
        for partition in partitions:
            self._marks.pop(partition, None)
        self._early = [each for each in self._early if each.partition() not in partitions]
