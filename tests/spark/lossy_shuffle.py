"""A shuffle in memory that loses all it holds when somebody has read a partition, the first times,
so that all senders are called again for the next one; and a Runner with it, where one sender of
every exchange meets a second fault when it is called again.

It is driven by the same code that works on Spark (crawl/spark/exchange.py and exchange_worker.py),
and tries a task again as Spark does.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import pytest

from crawl.errors import StorageError, UsageError
from crawl.spark.exchange import exchange_by
from crawl.spark.exchange_worker import Placed
from crawl.spark.faults import FaultException, told_fault
from crawl.tables.exchange import (
    Addressed,
    BlockSource,
    Exchange,
    Outbox,
    Received,
    StoredBlocks,
    rows_of_block,
)
from crawl.tables.runner import InProcess

_TRIES = 4
_LOSSES = 3
"""How often a shuffle loses what it holds: each time all before it in a chain may send again."""
SECOND_FAULT = "a second fault"


class SecondFault(StrEnum):
    """What a sender of each exchange meets when it is called again, once."""

    PASSING = "a fault of a store, which passes"
    LASTING = "a fault of a store, which lasts"
    USER = "a fault that trying again does not help"
    FEWER_ROWS = "it sends fewer rows"
    ALWAYS_FEWER = "all that are called again send fewer rows"


class Rows:
    """Partitions that are worked out when somebody reads them."""

    def __init__(self, count: int, partition: Callable[[int], list[Any]]) -> None:
        self.count = count
        self.partition = partition


@dataclass
class _Shuffled:
    """What was sent: of every sending partition, while it is not lost."""

    shuffle: LossyShuffle
    sent: list[Rows]
    kept: dict[tuple[int, int], bytes] = field(default_factory=dict)
    has_sent: set[tuple[int, int]] = field(default_factory=set)
    losses: int = 0

    def read(self, wanted: int) -> list[Any]:
        found: list[Any] = []
        for number, rows in enumerate(self.sent):
            for place in range(rows.count):
                key = number, place
                if key not in self.kept:
                    self.kept[key] = self._send(key, rows)
                placed: list[Placed] = pickle.loads(self.kept[key])
                found += [item for partition, item in placed if partition == wanted]
        self.lose()
        return found

    def lose(self) -> None:
        if self.losses < _LOSSES:
            self.losses += 1
            self.kept.clear()

    def _send(self, key: tuple[int, int], rows: Rows) -> bytes:
        with self.shuffle.repeat(self) if key in self.has_sent else _once():
            sent = self.shuffle.tried(lambda: rows.partition(key[1]))
        self.has_sent.add(key)
        return pickle.dumps(sent)


@contextmanager
def _once() -> Iterator[None]:
    yield


class LossyShuffle:
    """A Shuffle (crawl/spark/exchange.py) that holds nothing for long."""

    def __init__(self, fault: SecondFault | None) -> None:
        self._fault = fault
        self._hit: list[_Shuffled] = []
        self.functions: list[Any] = []
        self.is_due = False
        """Whether the sender that works now is to meet its fault."""
        self.met = 0
        """How many have."""

    def dealt(self, slices: Sequence[Any]) -> Rows:
        return Rows(len(slices), lambda place: [slices[place]])

    def mapped(self, rows: Rows, function: Callable[[int, Iterable[Any]], Iterable[Any]]) -> Rows:
        self.functions.append(function)
        return Rows(rows.count, lambda place: list(function(place, iter(rows.partition(place)))))

    def shuffled(self, sent: Sequence[Rows], partitions: int) -> Rows:
        shuffled = _Shuffled(self, list(sent))
        return Rows(partitions, shuffled.read)

    def beside(self, shuffled: Rows, items: Sequence[Placed], partitions: int, size: int) -> Rows:
        assert shuffled.count == partitions
        return Rows(
            partitions,
            lambda wanted: [
                *(item for partition, item in items if partition == wanted),
                *shuffled.partition(wanted),
            ],
        )

    def partitions_of(self, rows: Rows) -> int:
        return rows.count

    def run(self, rows: Rows, partitions: list[int], tasks: int, step: str) -> list[Any]:
        found: list[Any] = []
        for place in partitions:
            found += self.tried(lambda place=place: rows.partition(place))  # type: ignore[misc]
        return found

    def tried(self, work: Callable[[], list[Any]]) -> list[Any]:
        """As Spark tries a task."""
        for attempt in range(_TRIES):
            try:
                return work()
            except FaultException as error:
                if attempt == _TRIES - 1:
                    fault = told_fault(str(error))
                    assert fault is not None
                    raise fault from error
        raise AssertionError("not reached")

    @contextmanager
    def repeat(self, shuffled: _Shuffled) -> Iterator[None]:
        """Is around the repeated work of a sender; the first of an exchange meets the fault."""
        before = self.is_due
        is_next = self._fault is not None and shuffled not in self._hit
        self.is_due = before or is_next or self._fault is SecondFault.ALWAYS_FEWER
        if self.is_due:
            self._hit.append(shuffled)
        try:
            yield
        finally:
            self.is_due = before

    def meet(self, outbox: Outbox) -> None:
        """The fault of the sender that works now."""
        if not self.is_due:
            return
        self.met += 1
        self.is_due = self._fault is SecondFault.LASTING
        if self._fault is SecondFault.USER:
            raise UsageError(SECOND_FAULT)
        if self._fault in (SecondFault.FEWER_ROWS, SecondFault.ALWAYS_FEWER):
            if outbox._sent:
                destination, block = outbox._sent.pop()
                assert isinstance(block, bytes)
                outbox.rows[destination] -= rows_of_block(block)
            return
        raise StorageError(SECOND_FAULT)


@dataclass(frozen=True)
class _Sending:
    """A sending function that meets a fault behind its work."""

    function: Callable[..., Any]
    shuffle: LossyShuffle

    def __call__(self, *given: Any) -> Any:
        result = self.function(*given)
        self.shuffle.meet(given[-1])
        return result


class LossyRunner:
    """A Runner in this process whose exchanges lose all that was sent, again and again."""

    def __init__(self, fault: SecondFault | None, most: int | None = None) -> None:
        self.shuffle = LossyShuffle(fault)
        self._most = most

    def run(self, function: Callable[[Any], Any], tasks: Sequence[Any], step: str) -> list[Any]:
        return InProcess().run(function, tasks, step)

    def exchange(
        self,
        function: Callable[[Any, Outbox], Any],
        tasks: Sequence[Any],
        destinations: int,
        step: str,
        sources: Sequence[BlockSource] = (),
        *,
        rows: int | None = None,
    ) -> Exchange[Any]:
        stored = [source for source in sources if isinstance(source, StoredBlocks)]
        assert len(stored) == len(sources)
        blocks = [Rows(1, lambda _, each=each: list(each.blocks)) for each in stored]  # type: ignore[misc]
        work = _Sending(function, self.shuffle)
        sent = exchange_by(self.shuffle, work, tasks, destinations, step, blocks, most=self._most)
        return _LossyExchange(sent, self.shuffle)


@dataclass
class _LossyExchange:
    sent: Exchange[Any]
    shuffle: LossyShuffle

    def results(self) -> Sequence[Any]:
        return self.sent.results()

    def row_counts(self) -> Any:
        return self.sent.row_counts()

    def run(
        self,
        function: Callable[[Any, Received], Any],
        tasks: Sequence[Addressed[Any]],
        step: str,
    ) -> list[Any]:
        return self.sent.run(function, tasks, step)

    def send(
        self,
        function: Callable[[Any, Received, Outbox], Any],
        tasks: Sequence[Addressed[Any]],
        destinations: int,
        step: str,
    ) -> Exchange[Any]:
        work = _Sending(function, self.shuffle)
        return _LossyExchange(self.sent.send(work, tasks, destinations, step), self.shuffle)


@contextmanager
def workers_here() -> Iterator[None]:
    """What workers do to their process is not done to this one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("crawl.spark.exchange_worker.freeze_modules", lambda: None)
        yield


@contextmanager
def lossy_exchanges(fault: SecondFault | None) -> Iterator[LossyShuffle]:
    """All exchanges of InProcess are lossy ones, whoever has made the runner."""
    lossy = LossyRunner(fault, most=3)

    def exchange(self: InProcess, *given: Any, **options: Any) -> Exchange[Any]:
        return lossy.exchange(*given, **options)

    with pytest.MonkeyPatch.context() as patch, workers_here():
        patch.setattr(InProcess, "exchange", exchange)
        yield lossy.shuffle
