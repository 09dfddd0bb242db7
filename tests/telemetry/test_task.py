"""The telemetry context that goes with a task, and the spans and counters that come back."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from crawl.config import Config
from crawl.counters import Counters
from crawl.errors import StorageError
from crawl.tables.runner import InProcess
from crawl.telemetry import ambient
from crawl.telemetry.ambient import observed_command, span
from crawl.telemetry.context import current_context, in_context
from crawl.telemetry.metrics import TASK_SECONDS
from crawl.telemetry.task import ObservedTasks, observe_tasks
from tests.telemetry.collector import collecting


@dataclass(frozen=True)
class Piece:
    part: int


@dataclass(frozen=True)
class PieceResult:
    counters: Counters


def place_of(task: object) -> dict[str, object]:
    return current_context().as_dict()


def count(piece: Piece) -> PieceResult:
    return PieceResult(Counters({"records": piece.part + 1}))


def fail(piece: Piece) -> None:
    raise StorageError(f"part {piece.part} is gone")


def test_off_the_function_goes_as_it_is() -> None:
    work: ObservedTasks[Any, Any] = observe_tasks(place_of, "parse", away=True)
    assert work.function is place_of
    assert work.results([1, 2]) == [1, 2]


@pytest.mark.parametrize("threads", [1, 3])
def test_tasks_are_spans_below_their_step_and_know_their_part(threads: int) -> None:
    with collecting() as collector:
        config = Config.of({"traces.otlp.endpoint": collector.url})
        with (
            observed_command(config, "parse", "c"),
            in_context(phase="parse"),
            span("parse"),
            in_context(step="parse"),
            span("parse: parse"),
        ):
            runner = InProcess(threads)
            places = runner.run(place_of, [Piece(0), (Piece(1), Piece(2)), "none"], "parse")
            results = runner.run(count, [Piece(4), Piece(5)], "parse")
        (step,) = collector.named("parse: parse")
        tasks = collector.named("parse task")
    assert [place.get("part") for place in places] == [0, 1, None]
    assert [each.counters["records"] for each in results] == [5, 6]
    assert len(tasks) == 5
    assert {task.parent for task in tasks} == {step.id}
    assert {task.attributes.get("nutria.count.records") for task in tasks} == {None, 5, 6}


def test_a_tasks_fault_is_raised_as_it_was_and_seen_in_its_span() -> None:
    with collecting() as collector:
        config = Config.of({"traces.otlp.endpoint": collector.url})
        with (
            pytest.raises(StorageError, match="part 7 is gone"),
            observed_command(config, "parse", "c"),
        ):
            InProcess().run(fail, [Piece(7)], "parse")
        (task,) = collector.named("parse task")
    assert task.failed
    assert task.attributes["nutria.part"] == 7


def test_the_time_of_tasks_is_measured(tmp_path: object) -> None:
    config = Config.of({"metrics.textfile": str(tmp_path)})
    with observed_command(config, "parse", "c"), in_context(phase="parse", step="parse"):
        InProcess().run(count, [Piece(0), Piece(1)], "parse")
        meter = ambient.meter()
        assert meter is not None
        (sample,) = dict(meter.samples())[TASK_SECONDS]
    assert sample.labels == ("parse", "parse")
    assert sample.histogram is not None
    assert sum(sample.histogram.counts) == 2


def test_a_task_travels_with_all_it_needs() -> None:
    config = Config.of({"log.format": "json", "metrics.prometheus.port": 0})
    with observed_command(config, "parse", "c"), in_context(phase="parse"):
        work = observe_tasks(partial(count), "parse", away=False)
        again = pickle.loads(pickle.dumps(work.function))
    assert again.settings.log_json
    assert not again.settings.measures, "a worker opens no port"
    assert again(Piece(1)).result.counters == Counters({"records": 2})
