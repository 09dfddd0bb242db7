"""What senders, forwarders and receivers of an exchange do in their worker, and what they tell the
driver (crawl/spark/exchange.py); nothing here knows Spark.

Whoever reads rows learns from the same partition whether their senders failed: a sender that
fails says so in every partition, whenever it is called, so no partition can be read without it.
And it knows how many rows there must be, where the driver has heard of them before; where they
are read for the first time, the driver compares.
"""

from __future__ import annotations

import pickle
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from crawl.spark.faults import Attempt, ChangedRows, Fault, FaultPolicy, freeze_modules
from crawl.tables.exchange import NOTHING, Block, Outbox, Received, rows_of_block

Item = Any
"""What a partition holds: blocks, tasks that work on them, and what became of their senders."""
Placed = tuple[int, Item]
"""A partition, and what goes there."""

NumberedTask = tuple[int, bytes]
"""A task as it travels, with its number in the step."""


@dataclass(frozen=True, slots=True)
class Partitions:
    """Which partition of the shuffle a destination has: one of its own, or one for several where
    rows are few. What becomes of the senders has the last partition."""

    destinations: int
    last: int
    """Its number, and how many there are for the destinations."""

    @classmethod
    def of(cls, destinations: int, most: int | None) -> Partitions:
        return cls(destinations, destinations if most is None else min(destinations, most))

    def __call__(self, destination: int) -> int:
        if not 0 <= destination < self.destinations:
            raise IndexError(f"rows for {destination}, but there are {self.destinations}")
        return destination % self.last

    def destinations_of(self, partition: int) -> range:
        return range(partition, self.destinations, self.last)


@dataclass(frozen=True, slots=True)
class DestinationTask:
    """A task that works on what a destination receives."""

    destination: int
    number: int
    task: bytes
    rows: int | None
    """How many the destination must receive, where the driver has heard of it."""

    def require_all(self, rows: int) -> None:
        if self.rows is not None:
            require_rows(self.destination, rows, self.rows)


def require_rows(destination: int, received: int, sent: int) -> None:
    """Raises ChangedRows where a destination did not receive what was sent to it."""
    if received != sent:
        raise ChangedRows(
            f"destination {destination} received {received} rows, and {sent} were sent at first:"
            " run the same command again"
        )


@dataclass(frozen=True)
class Outcome:
    """What a sending task returned, or its Fault, and how many rows it sent to whom."""

    number: int
    result: Any
    rows: SentRows
    read: tuple[int, int] | None = None
    """The destination whose rows it sent on, and how many it received."""


@dataclass(frozen=True)
class SentRows:
    """How many rows somebody sent to whom. Alone: those of a source, which is no task."""

    destinations: npt.NDArray[np.int32]
    rows: npt.NDArray[np.int64]

    @classmethod
    def of(cls, rows: Mapping[int, int]) -> SentRows:
        return cls(
            np.fromiter(rows, np.int32, len(rows)), np.fromiter(rows.values(), np.int64, len(rows))
        )


@dataclass(frozen=True, slots=True)
class FailedSender:
    """Lies in every partition: the rows of this sender are missing."""

    number: int
    fault: Fault


@dataclass(frozen=True)
class Arrived:
    """What the driver hears of the sending tasks."""

    results: list[Any]
    """In the order of the tasks."""
    rows: npt.NDArray[np.int64]
    """Of the tasks, by destination."""
    source_rows: npt.NDArray[np.int64]
    read: dict[int, int]
    """How many rows each destination had received whose rows these tasks sent on."""
    before: Arrived | None
    """Of the exchange whose rows these tasks sent on."""

    @classmethod
    def of(cls, items: Iterable[Item], destinations: int) -> Arrived:
        outcomes: list[Outcome] = []
        before: Arrived | None = None
        rows, source_rows = np.zeros((2, destinations), dtype=np.int64)
        for item in items:
            if isinstance(item, Arrived):
                before = item
            elif isinstance(item, SentRows):
                source_rows[item.destinations] += item.rows
            else:
                assert isinstance(item, Outcome)
                outcomes.append(item)
                rows[item.rows.destinations] += item.rows.rows
        outcomes.sort(key=lambda outcome: outcome.number)
        results = [outcome.result for outcome in outcomes]
        read = dict(outcome.read for outcome in outcomes if outcome.read is not None)
        return cls(results, rows, source_rows, read, before)

    def require_read(self, read: Mapping[int, int]) -> None:
        """Raises ChangedRows where a destination did not receive what was sent to it."""
        for destination, rows in read.items():
            require_rows(destination, rows, self.rows_at(destination))

    def rows_at(self, destination: int) -> int:
        return int(self.rows[destination] + self.source_rows[destination])


@dataclass(frozen=True, slots=True)
class Answer:
    """What a receiving task returned, or its Fault."""

    destination: int
    rows: int
    """That it was given."""
    result: Any


@contextmanager
def _worker(faults: FaultPolicy) -> Iterator[None]:
    """Is around all that a worker does: also a disk that is full while rows are put aside is told
    as what it is."""
    freeze_modules()
    with faults.raised():
        yield


@dataclass(frozen=True, slots=True)
class Sender:
    """The tasks of a partition, with what they send. The first fault ends them: whoever reads
    learns of that one, and all others that would be left have higher numbers."""

    attempt: Attempt[Any, Any]
    partitions: Partitions

    def __call__(self, _: int, dealt: Iterable[list[NumberedTask]]) -> Iterator[Placed]:
        with _worker(self.attempt.faults):
            has_failed = False
            for tasks in dealt:  # to the end: what is left unread costs the worker
                for number, task in tasks:
                    if not has_failed:
                        has_failed = yield from self.send(number, pickle.loads(task))

    def send(
        self, number: int, task: Any, *received: Received, read: tuple[int, int] | None = None
    ) -> Generator[Placed, None, bool]:
        """The blocks of a task, and its outcome; returns whether it has failed."""
        outbox = Outbox(number)
        result = self.attempt.one((task, *received, outbox))
        if isinstance(result, Fault):
            yield from self.fail(number, result)
            return True
        for destination, block in outbox.drain():
            yield self.partitions(destination), (destination, block)
        yield self.partitions.last, Outcome(number, result, SentRows.of(outbox.rows), read)
        return False

    def fail(self, number: int, fault: Fault) -> Iterator[Placed]:
        """Says everywhere that rows are missing."""
        failed = FailedSender(number, fault.without_trace())
        for partition in range(self.partitions.last):
            yield partition, failed
        yield self.partitions.last, Outcome(number, fault, SentRows.of({}))


class SourceSender:
    """Blocks that somebody else has made, counted on their way."""

    def __init__(self, partitions: Partitions) -> None:
        self._partitions = partitions
        self._faults = FaultPolicy()

    def __call__(self, _: int, blocks: Iterable[Block]) -> Iterator[Placed]:
        rows: dict[int, int] = {}
        with _worker(self._faults):
            for destination, block in blocks:
                rows[destination] = rows.get(destination, 0) + rows_of_block(block)
                yield self._partitions(destination), (destination, block)
            yield self._partitions.last, SentRows.of(rows)


@dataclass
class _Inbox:
    """What a partition holds for its destinations."""

    tasks: dict[int, DestinationTask]
    received: dict[int, Received] = field(default_factory=dict)
    failed: FailedSender | None = None

    @classmethod
    def read(cls, items: Iterable[Item], tasks: Mapping[int, DestinationTask]) -> _Inbox:
        # To the end, needed or not: a worker that leaves something unread is thrown away.
        inbox = cls(dict(tasks))
        inbox.received = Received.by_destination(inbox._blocks(items))
        return inbox

    def _blocks(self, items: Iterable[Item]) -> Iterator[Block]:
        for item in items:
            if isinstance(item, tuple):
                yield item
            elif isinstance(item, DestinationTask):
                self.tasks[item.destination] = item
            else:
                assert isinstance(item, FailedSender)
                if self.failed is None or item.number < self.failed.number:
                    self.failed = item

    def take(self, task: DestinationTask) -> Received:
        """What the task works on; raises ChangedRows where it is not all."""
        received = self.received.pop(task.destination, NOTHING)
        task.require_all(received.total_rows)
        return received


@dataclass(frozen=True, slots=True)
class Receiver:
    """The tasks of a partition's destinations; or what became of the senders."""

    attempt: Attempt[Any, Any]
    tasks: Mapping[int, DestinationTask]
    partitions: Partitions

    def __call__(self, partition: int, items: Iterable[Item]) -> Iterator[Answer | Arrived]:
        with _worker(self.attempt.faults):
            if partition == self.partitions.last:
                yield Arrived.of(items, self.partitions.destinations)
                return
            inbox = _Inbox.read(items, self.tasks)
            for destination in self.partitions.destinations_of(partition):
                task = inbox.tasks.get(destination)
                if task is None:
                    continue
                if inbox.failed is not None:
                    yield Answer(destination, 0, inbox.failed.fault)
                    continue
                received = inbox.take(task)
                result = self.attempt.one((pickle.loads(task.task), received))
                yield Answer(destination, received.total_rows, result)


@dataclass(frozen=True, slots=True)
class Forwarder:
    """The tasks of a partition's destinations send on. What became of the senders before goes to
    where the driver looks for what became of these."""

    sender: Sender
    tasks: Mapping[int, DestinationTask]
    before: Partitions

    def __call__(self, partition: int, items: Iterable[Item]) -> Iterator[Placed]:
        with _worker(self.sender.attempt.faults):
            if partition == self.before.last:
                arrived = Arrived.of(items, self.before.destinations)
                yield self.sender.partitions.last, arrived
                return
            inbox = _Inbox.read(items, self.tasks)
            here = self.before.destinations_of(partition)
            tasks = [inbox.tasks[destination] for destination in here if destination in inbox.tasks]
            for task in sorted(tasks, key=lambda each: each.number):
                if inbox.failed is not None:
                    yield from self.sender.fail(task.number, inbox.failed.fault)
                    return
                received = inbox.take(task)
                read = task.destination, received.total_rows
                payload = pickle.loads(task.task)
                if (yield from self.sender.send(task.number, payload, received, read=read)):
                    return
