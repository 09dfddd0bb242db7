"""generate is few jobs of the engine, whatever the size: steps between which the driver has nothing
to decide are one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pytest

from crawl.config import Config
from crawl.phases.generate import run as generate
from crawl.phases.generate import steps
from crawl.phases.generate.options import GenerateOptions
from crawl.tables.exchange import Addressed, BlockSource, Exchange, Outbox, Received
from crawl.tables.runner import InProcess
from crawl.testing.clock import ManualClock
from tests.phases.made import NOW, datum, make_crawldb

Task = TypeVar("Task")
Result = TypeVar("Result")


class JobCountingRunner:
    """Counts jobs as Spark's exchange has them (crawl/spark/exchange.py): whoever receives is one,
    and all who have to send for it are part of it."""

    def __init__(self) -> None:
        self.jobs: list[str] = []

    def run(
        self, function: Callable[[Task], Result], tasks: Sequence[Task], step: str
    ) -> list[Result]:
        self.jobs.append(step)
        return InProcess().run(function, tasks, step)

    def exchange(
        self,
        function: Callable[[Task, Outbox], Result],
        tasks: Sequence[Task],
        destinations: int,
        step: str,
        sources: Sequence[BlockSource] = (),
        *,
        rows: int | None = None,
    ) -> Exchange[Result]:
        sent = InProcess().exchange(function, tasks, destinations, step, sources)
        return _Counted(self.jobs, sent, step)


class _Counted:
    def __init__(
        self, jobs: list[str], sent: Exchange[Any], step: str, before: _Counted | None = None
    ) -> None:
        self._jobs = jobs
        self._sent = sent
        self._step = step
        self._before = before
        self._is_heard = False

    def results(self) -> Sequence[Any]:
        if not self._is_heard:
            self._jobs.append(self._step)
            self._hear()
        return self._sent.results()

    def row_counts(self) -> npt.NDArray[np.int64]:
        self.results()
        return self._sent.row_counts()

    def run(
        self,
        function: Callable[[Task, Received], Any],
        tasks: Sequence[Addressed[Task]],
        step: str,
    ) -> list[Any]:
        self._jobs.append(step)
        self._hear()
        return self._sent.run(function, tasks, step)

    def send(
        self,
        function: Callable[[Task, Received, Outbox], Any],
        tasks: Sequence[Addressed[Task]],
        destinations: int,
        step: str,
    ) -> Exchange[Any]:
        sent = self._sent.send(function, tasks, destinations, step)
        return _Counted(self._jobs, sent, step, self)

    def _hear(self) -> None:
        self._is_heard = True
        if self._before is not None:
            self._before._hear()


def jobs_of(place: Path, settings: dict[str, object] | None = None, **options: Any) -> list[str]:
    """The jobs of a generate over some hosts in some buckets."""
    known = {f"http://h{number % 7}.org/{number}": datum() for number in range(60)}
    directory = make_crawldb(str(place), known, buckets=4)
    runner = JobCountingRunner()
    done = generate.run(
        runner,
        directory,
        Config.of(settings or {}),
        GenerateOptions(**options),
        ManualClock(NOW),
        resolver=lambda host: None,
    )
    assert done.report.counters["urls_generated"] == options.get("top_n", 60)
    return runner.jobs


COLLECT, LIST, RANK = "generate: collect", "generate: write fetch lists", "generate: rank"
MARK: dict[str, object] = {"generate.update.crawldb": True}


def test_all_that_is_due_takes_two_jobs(tmp_path: Path) -> None:
    assert jobs_of(tmp_path / "a") == [COLLECT, LIST]
    assert jobs_of(tmp_path / "b", MARK) == [COLLECT, LIST, "generate: mark"]


def test_a_top_n_that_is_more_than_all_urls_is_none(tmp_path: Path) -> None:
    assert jobs_of(tmp_path / "a", top_n=60) == [COLLECT, LIST]
    assert jobs_of(tmp_path / "b", top_n=59) == [RANK, COLLECT, LIST]


@pytest.mark.parametrize("cap", [-1, 5])
def test_a_top_n_takes_three_jobs_and_marks_one_more(tmp_path: Path, cap: int) -> None:
    capped: dict[str, object] = {"generate.max.count": cap}
    usual = [RANK, COLLECT, LIST]
    assert jobs_of(tmp_path / "a", capped, top_n=20, num_fetchers=3) == usual
    assert jobs_of(tmp_path / "b", {**capped, **MARK}, top_n=20) == [*usual, "generate: mark"]


@pytest.mark.parametrize(("keys_told", "looks"), [(20, 1), (10, 2)])
def test_a_large_crawldb_takes_a_further_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keys_told: int, looks: int
) -> None:
    monkeypatch.setattr(steps, "_SUMMARY_KEYS", keys_told)
    further = ["generate: cut"] * looks
    assert jobs_of(tmp_path / "a", top_n=20) == [RANK, *further, COLLECT, LIST]
