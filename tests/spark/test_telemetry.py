"""Telemetry across processes: Spark's pages, spans and lines of its Python workers."""

from __future__ import annotations

import json
import logging
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.counters import Counters
from crawl.errors import StorageError
from crawl.phases.generate import run as generate
from crawl.phases.generate.options import GenerateOptions
from crawl.phases.inject import run as inject
from crawl.phases.inject.options import InjectOptions
from crawl.spark.expr import matching_rows
from crawl.spark.session import log_file_of
from crawl.spark.tasks import SparkRunner
from crawl.storage.crawl_dir import CrawlDir
from crawl.telemetry import logs
from crawl.telemetry.ambient import observed_command, span
from crawl.telemetry.context import in_context
from tests.telemetry.collector import collecting

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@dataclass(frozen=True)
class Piece:
    part: int


@dataclass(frozen=True)
class PieceResult:
    counters: Counters
    pid: int


def work(piece: Piece) -> PieceResult:
    logging.getLogger("crawl.test").info("at work")
    return PieceResult(Counters({"records": piece.part}), os.getpid())


def fail(piece: Piece) -> PieceResult:
    raise StorageError(f"part {piece.part} is gone")


def descriptions(spark: SparkSession) -> list[str]:
    """The descriptions of all jobs so far, as Spark's pages show them; newest first."""
    store: Any = spark.sparkContext._jsc.sc().statusStore()
    jobs = store.jobsList(None)
    found = [jobs.apply(number).description() for number in range(jobs.size())]
    return [option.get() if option.isDefined() else "" for option in found]


def test_every_job_names_its_phase_step_crawl_and_segment(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "seeds.txt").write_text("http://a.example/\nhttp://b.example/\n")
    directory, runner = CrawlDir(str(tmp_path / "mycrawl")), SparkRunner(spark, quiet=True)
    config, clock = Config.of({"crawldb.buckets": 2}), SystemClock()
    before = len(descriptions(spark))
    inject.run(runner, directory, config, InjectOptions((str(tmp_path / "seeds.txt"),)), clock)
    done = generate.run(
        *(runner, directory, config, GenerateOptions(), clock),
        resolver=lambda host: None,
        matching=lambda base, slices: matching_rows(spark, directory, base, "score >= 0", slices),
    )
    with in_context(phase="updatedb", crawl=directory.address, segment=done.segments[0]):
        runner.run(work, [Piece(0)], "updatedb: merge")
    found = descriptions(spark)
    new = set(found[: len(found) - before])
    place = f" · {directory.address}"
    assert {
        f"inject: read seeds{place}",
        f"inject: merge{place}",
        f"generate: collect{place}",
        f"generate: write fetch lists{place}",
        f"updatedb: merge{place} · {done.segments[0]}",
    } <= new
    assert all(description.endswith(place) or place in description for description in new)


def test_a_description_does_not_stay_with_its_thread(spark: SparkSession) -> None:
    with in_context(phase="parse", crawl="c"):
        SparkRunner(spark, quiet=True).run(work, [Piece(0)], "parse")
    assert spark.sparkContext.getLocalProperty("spark.job.description") is None
    assert spark.sparkContext.parallelize([1], 1).count() == 1
    assert descriptions(spark)[0] == ""


def test_spans_of_workers_are_below_the_drivers(spark: SparkSession) -> None:
    with collecting() as collector:
        config = Config.of({"traces.otlp.endpoint": collector.url})
        runner = SparkRunner(spark, quiet=True)
        with (
            observed_command(config, "parse", "c"),
            in_context(phase="parse", segment="20261115093000"),
            span("parse"),
        ):
            results = runner.run(work, [Piece(0), Piece(1), Piece(2)], "parse")
            with pytest.raises(StorageError, match="part 9 is gone"):
                runner.run(fail, [Piece(9)], "parse")
        (phase,) = collector.named("parse")
        tasks = collector.named("parse task")
    assert [each.counters["records"] for each in results] == [0, 1, 2]
    assert {task.parent for task in tasks} == {phase.id}
    assert {task.trace for task in tasks} == {phase.trace}
    tries = [9] * 4  # a fault of a store may pass: Spark tries the task again
    assert sorted(task.attributes["nutria.part"] for task in tasks) == [0, 1, 2, *tries]
    assert {task.resource["nutria.role"] for task in tasks} == {"worker"}
    assert {task.resource["process.pid"] for task in tasks} >= {each.pid for each in results}
    assert os.getpid() not in {task.resource["process.pid"] for task in tasks}
    assert [task.attributes["nutria.part"] for task in tasks if task.failed] == tries


def test_lines_of_workers_are_json_in_sparks_log(spark: SparkSession) -> None:
    log = log_file_of(spark)
    assert log is not None
    size = log.stat().st_size
    try:
        with (
            observed_command(Config.of({"log.format": "json"}), "parse", "mycrawl"),
            in_context(phase="parse", segment="20261115093000"),
        ):
            SparkRunner(spark, quiet=True).run(work, [Piece(0), Piece(1)], "parse")
    finally:
        logs.use_text()
    with log.open(encoding="utf-8") as stream:
        stream.seek(size)
        lines = [json.loads(line) for line in stream if line.startswith('{"time"')]
    at_work = [line for line in lines if line["message"] == "at work"]
    assert {(line["role"], line["part"], line["phase"], line["segment"]) for line in at_work} == {
        ("worker", 0, "parse", "20261115093000"),
        ("worker", 1, "parse", "20261115093000"),
    }
    assert {line["crawl"] for line in at_work} == {"mycrawl"}


def test_nothing_stays_with_the_workers_when_it_is_off_again(spark: SparkSession) -> None:
    results = SparkRunner(spark, quiet=True).run(work, [Piece(3)], "parse")
    assert [each.counters["records"] for each in results] == [3]
