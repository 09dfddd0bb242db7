"""An exchange by Spark's own shuffle (crawl/spark/shuffle.py), which moves opaque blocks and no
rows. What runs in the workers is in crawl/spark/exchange_worker.py; this is the driver's side.

The shuffle's files stay with the executors that wrote them: whoever works on the same rows
again, or is tried again, reads them there, and where an executor is lost only its own tasks
send once more. What the sending tasks return travels to one further partition, with the rows
that each has sent; so the driver hears of as many things as there are tasks and destinations,
and never of their product.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from crawl.errors import CrawlError
from crawl.spark.costs import pickled_tasks
from crawl.spark.exchange_worker import (
    Answer,
    Arrived,
    DestinationTask,
    Forwarder,
    Partitions,
    Placed,
    Receiver,
    Sender,
    SourceSender,
)
from crawl.spark.faults import Attempt, ChangedRows, without_faults
from crawl.tables.exchange import Addressed, Block, Exchange, OfTuple, Outbox, Received
from crawl.telemetry.task import ObservedTasks, observe_tasks

if TYPE_CHECKING:
    from pyspark import RDD

Task = TypeVar("Task")
Result = TypeVar("Result")

_ROWS_PER_TASK = 50_000
"""Where rows are fewer, a task of Spark works for several destinations: it takes some ten
milliseconds of itself, in which one reads and writes as many rows as this."""
_TASK_BYTES_FOR_ALL = 64 << 10
"""Tasks that are no larger in all travel to every worker with the function; larger ones each to
its destination alone, by a small shuffle of their own, which takes some milliseconds."""


@dataclass(frozen=True)
class RddSource:
    """Blocks that a Spark query makes."""

    blocks: RDD[Block]
    explain: Callable[[str], CrawlError | None] = lambda message: None
    """What a failure of the query means to the user, by what Spark says of it."""


class Shuffle(Protocol):
    """Who moves items between partitions: Spark, or a test that loses some. Rows are whatever
    it makes of them."""

    def dealt(self, slices: Sequence[Any]) -> Any: ...

    def mapped(self, rows: Any, function: Callable[..., Any]) -> Any: ...

    def shuffled(self, sent: Sequence[Any], partitions: int) -> Any: ...

    def beside(self, shuffled: Any, items: Sequence[Placed], partitions: int, size: int) -> Any: ...

    def partitions_of(self, rows: Any) -> int: ...

    def run(self, rows: Any, partitions: list[int], tasks: int, step: str) -> list[Any]: ...


def most_partitions(cores: int, rows: int | None) -> int | None:
    """How many partitions an exchange of so many rows has at most; None: as many as wanted."""
    return None if rows is None else max(cores, -(-rows // _ROWS_PER_TASK))


def exchange_by(
    shuffle: Shuffle,
    function: Callable[[Task, Outbox], Result],
    tasks: Sequence[Task],
    destinations: int,
    step: str,
    sources: Sequence[Any] = (),
    *,
    most: int | None = None,
) -> Exchange[Result]:
    """An exchange by any shuffle, with so many partitions at most."""
    work = observe_tasks(OfTuple(function), step, away=True)
    numbered = list(enumerate(pickled_tasks(tasks)))
    count = max(1, len(numbered) if most is None else min(len(numbered), most))
    partitions = Partitions.of(destinations, most)
    dealt = shuffle.dealt([numbered[place::count] for place in range(count)])
    sent = [shuffle.mapped(dealt, Sender(Attempt(work.function), partitions))]
    sent += [shuffle.mapped(source, SourceSender(partitions)) for source in sources]
    return ShuffledExchange(shuffle, sent, partitions, most, step, work, len(tasks))


@dataclass(eq=False)
class ShuffledExchange(Generic[Result]):
    """An Exchange (crawl/tables/exchange.py) by a shuffle."""

    shuffle: Shuffle
    sent: InitVar[Sequence[Any]]
    partitions: Partitions
    most: int | None
    step: str
    work: ObservedTasks[Any, Result]
    tasks: int
    before: ShuffledExchange[Any] | None = None
    _arrived: Arrived | None = field(default=None, init=False)
    _results: list[Result] = field(default_factory=list, init=False)

    def __post_init__(self, sent: Sequence[Any]) -> None:
        self._senders = sum(map(self.shuffle.partitions_of, sent))
        self._shuffled = self.shuffle.shuffled(sent, self.partitions.last + 1)

    def results(self) -> list[Result]:
        if self._arrived is None:
            self._run(Attempt(_nobody), {}, self.step)
        return self._results

    def row_counts(self) -> npt.NDArray[np.int64]:
        self.results()
        assert self._arrived is not None
        return self._arrived.rows

    def run(
        self, function: Callable[[Task, Received], Any], tasks: Sequence[Addressed[Task]], step: str
    ) -> list[Any]:
        if not tasks and self._arrived is not None:
            return []
        work = observe_tasks(OfTuple(function), step, away=True)
        addressed = self._addressed(tasks)
        answers = self._run(Attempt(work.function), addressed, step)
        results = without_faults(answers[destination].result for destination in addressed)
        assert self._arrived is not None
        self._arrived.require_read({each.destination: each.rows for each in answers.values()})
        return work.results(results)

    def send(
        self,
        function: Callable[[Task, Received, Outbox], Any],
        tasks: Sequence[Addressed[Task]],
        destinations: int,
        step: str,
    ) -> ShuffledExchange[Any]:
        work = observe_tasks(OfTuple(function), step, away=True)
        received, for_all = self._with_tasks(self._addressed(tasks))
        partitions = Partitions.of(destinations, self.most)
        sender = Sender(Attempt(work.function), partitions)
        sent = self.shuffle.mapped(received, Forwarder(sender, for_all, self.partitions))
        return ShuffledExchange(
            self.shuffle, [sent], partitions, self.most, step, work, len(tasks), self
        )

    def _addressed(self, tasks: Sequence[Addressed[Any]]) -> dict[int, DestinationTask]:
        """The tasks by destination, each with the rows that it must be given, if known."""
        pickled = pickled_tasks([task for _, task in tasks])
        arrived = self._arrived
        by_destination = {
            destination: DestinationTask(
                destination, number, task, None if arrived is None else arrived.rows_at(destination)
            )
            for number, ((destination, _), task) in enumerate(zip(tasks, pickled, strict=True))
        }
        assert len(by_destination) == len(tasks)  # a destination is worked on once
        return by_destination

    def _with_tasks(
        self, tasks: Mapping[int, DestinationTask]
    ) -> tuple[Any, Mapping[int, DestinationTask]]:
        """What the workers read, and the tasks that each of them is given beside it."""
        size = sum(len(each.task) for each in tasks.values())
        if size <= _TASK_BYTES_FOR_ALL:
            return self._shuffled, tasks
        placed = [(self.partitions(destination), task) for destination, task in tasks.items()]
        count = self.partitions.last + 1
        return self.shuffle.beside(self._shuffled, placed, count, size), {}

    def _run(
        self, attempt: Attempt[Any, Any], tasks: Mapping[int, DestinationTask], step: str
    ) -> dict[int, Answer]:
        """What the tasks answer; what became of the senders is heard in the same job, where it
        is not known yet."""
        rows, for_all = self._with_tasks(tasks)
        received = self.shuffle.mapped(rows, Receiver(attempt, for_all, self.partitions))
        partitions = list(dict.fromkeys(map(self.partitions, tasks)))
        if self._arrived is None:
            partitions.append(self.partitions.last)
        answers = self.shuffle.run(
            received, partitions, len(partitions) + self._all_senders(), step
        )
        if self._arrived is None:
            self._hear(answers.pop())
        return {answer.destination: answer for answer in answers}

    def _all_senders(self) -> int:
        """The tasks that have to send before anybody can receive."""
        if self._arrived is not None:
            return 0
        return self._senders + (0 if self.before is None else self.before._all_senders())

    def _hear(self, arrived: Arrived) -> None:
        """Takes note of what became of the senders, and raises what one of them raised."""
        before = self.before
        if before is not None and before._arrived is None:
            assert arrived.before is not None
            before._hear(arrived.before)
        results = without_faults(arrived.results)
        if len(results) != self.tasks:
            raise ChangedRows(f"{self.step}: {len(results)} of {self.tasks} tasks have sent")
        if before is not None:
            assert before._arrived is not None
            before._arrived.require_read(arrived.read)
        self._results = self.work.results(results)
        self._arrived = arrived


def _nobody(_task: Any) -> None:
    raise AssertionError("nobody works on these rows")
