"""An exchange by Spark's own shuffle: `mapPartitions → partitionBy → mapPartitions` over pairs of
a number and bytes, so that the JVM moves opaque blocks and no rows.

The shuffle's files stay with the executors that wrote them: whoever works on the same rows
again, or is tried again, reads them there, and where an executor is lost only its own tasks
send once more. What the sending tasks return travels to one further destination, with the rows
that each has sent; so the driver hears of as many things as there are tasks and destinations,
and never of their product.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from crawl.buckets.exchange import (
    NOTHING,
    Addressed,
    Block,
    BlockSource,
    Exchange,
    OfTuple,
    Outbox,
    Received,
)
from crawl.errors import CrawlError
from crawl.spark.costs import pickled_tasks
from crawl.spark.faults import Fault, freeze_modules, reported_faults, without_faults
from crawl.spark.progress import progress
from crawl.telemetry.task import ObservedTasks, observe_tasks

if TYPE_CHECKING:
    from pyspark import RDD
    from pyspark.sql import SparkSession

Task = TypeVar("Task")
Result = TypeVar("Result")

_ROWS_A_TASK = 50_000
"""Where rows are fewer, a task of Spark works for several destinations: it takes some ten
milliseconds of itself, in which one reads and writes as many rows as this."""


@dataclass(frozen=True)
class RddSource:
    """Blocks that a Spark query makes."""

    blocks: RDD[Block]
    explain: Callable[[str], CrawlError | None] = lambda said: None
    """What a failure of the query means to the user, by what Spark says of it."""


def exchange_on_spark(
    spark: SparkSession,
    function: Callable[[Task, Outbox], Result],
    tasks: Sequence[Task],
    destinations: int,
    step: str,
    sources: Sequence[BlockSource] = (),
    *,
    rows: int | None = None,
    quiet: bool = False,
) -> Exchange[Result]:
    """The exchange of `Runner.exchange`."""
    context = spark.sparkContext
    work = observe_tasks(OfTuple(function), step, away=True)
    most = None if rows is None else max(context.defaultParallelism, -(-rows // _ROWS_A_TASK))
    numbered = list(enumerate(pickled_tasks(tasks)))
    count = max(1, _bounded(len(numbered), most))
    dealt = [numbered[place::count] for place in range(count)]
    sent = context.parallelize(dealt, count).mapPartitions(_Sender(work.function, destinations))
    explain = []
    for source in sources:
        assert isinstance(source, RddSource)
        sent = context.union([sent, source.blocks])
        explain.append(source.explain)
    engine = _Engine(spark, quiet, tuple(explain), most)
    return SparkExchange(engine, sent, destinations, step, work)


@dataclass(frozen=True)
class _Outcome:
    """What a sending task returned, and how many rows it sent to whom."""

    number: int
    result: Any
    destinations: npt.NDArray[np.int32]
    rows: npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Partitions:
    """Which partition of the shuffle a destination has: one of its own, or one for several where
    rows are few. What becomes of the senders goes behind the last destination, and has the last
    partition."""

    destinations: int
    last: int
    """Its number, and how many there are for the destinations."""

    @classmethod
    def of(cls, destinations: int, most: int | None) -> _Partitions:
        return cls(destinations, _bounded(destinations, most))

    def __call__(self, destination: int) -> int:
        return self.last if destination == self.destinations else destination % self.last

    def destinations_of(self, partition: int) -> range:
        return range(partition, self.destinations, self.last)


class _Sender:
    """Runs in the worker: the tasks of a partition, with what they send."""

    def __init__(self, function: Callable[[Any], Any], destinations: int) -> None:
        self._function = function
        self._destinations = destinations

    def __call__(self, dealt: Iterable[list[tuple[int, bytes]]]) -> Iterator[Block]:
        freeze_modules()
        for tasks in dealt:
            for number, task in tasks:
                yield from self.send(number, task)

    def send(self, number: int, task: bytes, *received: Received) -> Iterator[Block]:
        """The blocks of a task, and its outcome behind the last destination."""
        outbox = Outbox(number)
        try:
            result = self._function((pickle.loads(task), *received, outbox))
        except CrawlError as error:
            result, outbox = Fault.of(error), Outbox(number)
        yield from outbox.blocks
        outcome = _Outcome(
            number,
            result,
            np.fromiter(outbox.rows, np.int32, len(outbox.rows)),
            np.fromiter(outbox.rows.values(), np.int64, len(outbox.rows)),
        )
        yield self._destinations, pickle.dumps(outcome)


@dataclass(frozen=True)
class _Arrived:
    """What the driver hears of the sending tasks."""

    results: list[Any]
    """In the order of the tasks."""
    rows: npt.NDArray[np.int64]
    before: _Arrived | None
    """Of the exchange whose rows these tasks sent on."""

    @classmethod
    def of(cls, blocks: Iterable[Block], destinations: int) -> _Arrived:
        outcomes: list[_Outcome] = []
        before: _Arrived | None = None
        rows = np.zeros(destinations, dtype=np.int64)
        for _, body in blocks:
            found = pickle.loads(body)  # our own bytes
            if isinstance(found, _Arrived):
                before = found
            else:
                outcomes.append(found)
                rows[found.destinations] += found.rows
        outcomes.sort(key=lambda outcome: outcome.number)
        return cls([outcome.result for outcome in outcomes], rows, before)


class _Receiver:
    """Runs in the worker: the tasks of a partition's destinations, each result with its
    destination; or what became of the senders."""

    def __init__(
        self,
        function: Callable[[Any], Any],
        tasks: Mapping[int, bytes],
        partitions: _Partitions,
    ) -> None:
        self._function = function
        self._tasks = tasks
        self._partitions = partitions

    def __call__(self, partition: int, blocks: Iterable[Block]) -> Iterator[Any]:
        freeze_modules()
        if partition == self._partitions.last:
            yield _Arrived.of(blocks, self._partitions.destinations)
            return
        # To the end, needed or not: a worker that leaves something unread is thrown away.
        received = Received.by_destination(blocks)
        for destination in self._partitions.destinations_of(partition):
            if destination in self._tasks:
                given = received.pop(destination, NOTHING)
                yield destination, self._one(self._tasks[destination], given)

    def _one(self, task: bytes, received: Received) -> Any:
        try:
            return self._function((pickle.loads(task), received))
        except CrawlError as error:
            return Fault.of(error)


class _Forwarder:
    """Runs in the worker: the tasks of a partition's destinations send on. What became of the
    senders before goes to where the driver looks for what became of these."""

    def __init__(
        self,
        sender: _Sender,
        tasks: Mapping[int, tuple[int, bytes]],
        before: _Partitions,
        after: int,
    ) -> None:
        self._sender = sender
        self._tasks = tasks
        self._before = before
        self._after = after

    def __call__(self, partition: int, blocks: Iterable[Block]) -> Iterator[Block]:
        freeze_modules()
        if partition == self._before.last:
            yield self._after, pickle.dumps(_Arrived.of(blocks, self._before.destinations))
            return
        received = Received.by_destination(blocks)
        for destination in self._before.destinations_of(partition):
            if destination in self._tasks:
                number, task = self._tasks[destination]
                yield from self._sender.send(number, task, received.pop(destination, NOTHING))


@dataclass(frozen=True)
class _Engine:
    """The session, and what all steps that follow from one exchange share."""

    spark: SparkSession
    quiet: bool
    explain: tuple[Callable[[str], CrawlError | None], ...]
    most_partitions: int | None
    """For the destinations of one exchange; None: each has its own."""

    def run(self, rows: RDD[Any], partitions: list[int], tasks: int, step: str) -> list[Any]:
        """What these partitions hold, in this order, which is also the order of start."""
        with (
            reported_faults(self.spark, step, self.explain),
            progress(self.spark, step, tasks, quiet=self.quiet),
        ):
            return list(self.spark.sparkContext.runJob(rows, iter, partitions))


class SparkExchange(Generic[Result]):
    """An Exchange (crawl/buckets/exchange.py) on the executors of a session."""

    def __init__(
        self,
        engine: _Engine,
        sent: RDD[Block],
        destinations: int,
        step: str,
        work: ObservedTasks[Any, Result],
        before: SparkExchange[Any] | None = None,
    ) -> None:
        self._engine = engine
        self._senders = sent.getNumPartitions()
        self._partitions = _Partitions.of(destinations, engine.most_partitions)
        self._step = step
        self._work = work
        self._before = before
        self._shuffled = sent.partitionBy(self._partitions.last + 1, self._partitions)
        self._arrived: _Arrived | None = None
        self._results: list[Result] = []

    def results(self) -> list[Result]:
        if self._arrived is None:
            self._run(_Receiver(_nobody, {}, self._partitions), [], self._step)
        return self._results

    def row_counts(self) -> npt.NDArray[np.int64]:
        self.results()
        assert self._arrived is not None
        return self._arrived.rows

    def run(
        self,
        function: Callable[[Task, Received], Any],
        tasks: Sequence[Addressed[Task]],
        step: str,
    ) -> list[Any]:
        if not tasks and self._arrived is not None:
            return []
        work = observe_tasks(OfTuple(function), step, away=True)
        # Pickled one by one: each worker gets them all, and needs few.
        pickled = dict(zip(_destinations(tasks), _pickled(tasks), strict=True))
        assert len(pickled) == len(tasks)  # a destination is worked on once
        receiver = _Receiver(work.function, pickled, self._partitions)
        partitions = list(dict.fromkeys(map(self._partitions, pickled)))
        found = dict(self._run(receiver, partitions, step))
        return work.results(without_faults(found[destination] for destination in pickled))

    def send(
        self,
        function: Callable[[Task, Received, Outbox], Any],
        tasks: Sequence[Addressed[Task]],
        destinations: int,
        step: str,
    ) -> SparkExchange[Any]:
        work = observe_tasks(OfTuple(function), step, away=True)
        numbered = enumerate(_pickled(tasks))
        pickled = dict(zip(_destinations(tasks), numbered, strict=True))
        assert len(pickled) == len(tasks)
        sender = _Sender(work.function, destinations)
        forwarder = _Forwarder(sender, pickled, self._partitions, destinations)
        sent = self._shuffled.mapPartitionsWithIndex(forwarder)
        return SparkExchange(self._engine, sent, destinations, step, work, self)

    def _run(self, receiver: _Receiver, partitions: list[int], step: str) -> list[Any]:
        """What the receiver makes of these partitions; what became of the senders is heard in
        the same job, where it is not known yet."""
        received = self._shuffled.mapPartitionsWithIndex(receiver)
        if self._arrived is not None:
            return self._engine.run(received, partitions, len(partitions), step)
        tasks = len(partitions) + 1 + self._all_senders()
        last = self._partitions.last
        *found, arrived = self._engine.run(received, [*partitions, last], tasks, step)
        self._hear(arrived)
        return found

    def _all_senders(self) -> int:
        """The tasks that have to send before anybody can receive."""
        if self._arrived is not None:
            return 0
        return self._senders + (0 if self._before is None else self._before._all_senders())

    def _hear(self, arrived: _Arrived) -> None:
        """Takes note of what became of the senders, and raises what one of them raised."""
        if self._before is not None and self._before._arrived is None:
            assert arrived.before is not None
            self._before._hear(arrived.before)
        self._results = self._work.results(without_faults(arrived.results))
        self._arrived = arrived


def _destinations(tasks: Sequence[Addressed[Any]]) -> list[int]:
    return [destination for destination, _ in tasks]


def _pickled(tasks: Sequence[Addressed[Any]]) -> list[bytes]:
    return pickled_tasks([task for _, task in tasks])


def _bounded(count: int, most: int | None) -> int:
    return count if most is None else min(count, most)


def _nobody(given: Any) -> None:
    raise AssertionError("nobody works on these rows")
