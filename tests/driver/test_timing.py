"""What the steps of a phase cost stands in its report, and what passes the driver is counted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.driver.crawldb_writer import CrawlDbUpdate
from crawl.driver.timing import timed
from crawl.errors import StorageError
from crawl.model.costs import EngineCosts
from crawl.model.report import Report
from crawl.phases.inject import run as inject
from crawl.phases.inject.options import InjectOptions
from crawl.storage.crawl_dir import CrawlDir
from crawl.telemetry.costs import cost_account
from crawl.telemetry.io_counts import count_io
from crawl.testing.clock import ManualClock
from tests.phases.counting_runner import CountingRunner


def injected(runner: CountingRunner, place: Path, seeds: int) -> CrawlDbUpdate:
    place.mkdir()
    file = place / "seeds.txt"
    file.write_text("".join(f"http://h{n}.example/\n" for n in range(seeds)))
    config = Config.of({"crawldb.buckets": 4})
    options = InjectOptions((str(file),))
    return inject.run(runner, CrawlDir(str(place / "c")), config, options, SystemClock())


def test_a_phase_reports_what_it_cost(tmp_path: Path) -> None:
    runner = CountingRunner()
    done = injected(runner, tmp_path / "a", 40)
    engine = done.report.engine
    assert engine is not None
    assert engine.jobs == len(runner.steps) and engine.tasks == 1 + done.snapshot.buckets
    assert engine.driver_bytes == runner.driver_bytes > 0
    # the seeds are read; every bucket is written, and at least that
    seeds = (tmp_path / "a" / "seeds.txt").stat().st_size
    assert (engine.bytes_read or 0) >= seeds
    assert (engine.bytes_written or 0) >= done.snapshot.bytes
    steps = done.report.engine_steps
    assert list(steps) == list(done.report.durations_s) == ["read", "merge"]
    assert (steps["merge"].bytes_written or 0) >= done.snapshot.bytes
    assert steps["read"].tasks == 1


def test_the_stored_report_says_the_same(tmp_path: Path) -> None:
    done = injected(CountingRunner(), tmp_path / "a", 3)
    stored = CrawlDir(str(tmp_path / "a" / "c")).crawldb.report(done.snapshot.number)
    assert EngineCosts.of_dict(stored["engine"]) == done.report.engine
    assert stored["engine"]["driver_bytes"] == done.report.engine.driver_bytes
    assert stored["engine_steps"].keys() == done.report.engine_steps.keys()


def test_what_passes_the_driver_does_not_grow_with_the_seeds(tmp_path: Path) -> None:
    few, many = CountingRunner(), CountingRunner()
    injected(few, tmp_path / "few", 400)
    injected(many, tmp_path / "many", 4000)
    assert many.driver_bytes < 1.1 * few.driver_bytes


def test_a_step_that_comes_again_adds_to_itself() -> None:
    report, clock = Report("inject", 0, ""), ManualClock()
    with cost_account():
        count_io(read=1)
        for _ in range(2):
            with timed(report, "read", clock):
                count_io(read=10)
        count_io(read=100)  # after the last step: of no report
    assert report.engine_steps["read"].bytes_read == 20
    assert report.engine is not None and report.engine.bytes_read == 21


def test_outside_of_a_phase_the_steps_are_all_there_is() -> None:
    report = Report("inject", 0, "")
    for step in ("read", "merge"):
        with timed(report, step, ManualClock()):
            count_io(written=5)
    assert report.engine is not None and report.engine.bytes_written == 10


def test_a_step_that_fails_is_timed_as_before() -> None:
    report = Report("inject", 0, "")
    with pytest.raises(StorageError), timed(report, "read", ManualClock()):
        raise StorageError("gone")
    assert report.durations_s == {"read": 0.0}


def test_a_report_that_nobody_counted_for_has_an_empty_section() -> None:
    content = json.loads(Report("inject", 0, "").as_json())
    assert content["engine"] == content["engine_steps"] == {}
