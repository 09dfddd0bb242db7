"""A driver program: updatedb and generate on a cluster, each kept between the senders and the
receivers of its exchange until somebody says how to go on.

    python -m tests.cluster.held_phases MASTER CRAWL FOLDER

It writes `STEP.sent` into the folder when all rows of a step are sent, and goes on when there is a
file `STEP.go`.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crawl.config import Config
from crawl.phases.generate import run as generate
from crawl.phases.generate.options import GenerateOptions
from crawl.phases.updatedb import run as updatedb
from crawl.phases.updatedb.options import UpdateDbOptions
from crawl.storage.crawl_dir import CrawlDir
from crawl.tables.exchange import BlockSource, Exchange, Outbox
from crawl.tables.runner import Runner
from crawl.testing.clock import ManualClock
from tests.phases.made import NOW

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TOP_N = 700
WORKERS = 2
HELD = {"updatedb: send": "updatedb: merge", "generate: scan": "generate: rank"}
"""The step that sends, and the first one that receives what it sent."""
GROUPED = {"updatedb: send": 200_000}
"""Rows for which there are four tasks, each of several senders or destinations."""


def run_phases(runner: Runner, crawl: CrawlDir, between: Callable[[], None] = lambda: None) -> None:
    """Takes in all segments and selects what is due. Old URLs are normalised again, so that they
    are sent, too."""
    # the schedule of a URL is not drawn by lot
    config, clock = Config.of({"urlfilter.order": ["length"]}), ManualClock(NOW)
    updatedb.run(runner, crawl, config, UpdateDbOptions(normalize=True), clock)
    between()
    options = GenerateOptions(top_n=TOP_N, num_fetchers=2)
    generate.run(runner, crawl, config, options, clock, resolver=lambda host: None)


def signal(folder: Path, step: str, what: str) -> Path:
    return folder / f"{step.replace(': ', '-')}.{what}"


class _HeldRunner:
    """A Runner on Spark that stops when the rows of certain steps are sent."""

    def __init__(self, runner: Runner, folder: Path) -> None:
        self._runner = runner
        self._folder = folder

    def run(self, function: Callable[[Any], Any], tasks: Sequence[Any], step: str) -> list[Any]:
        return self._runner.run(function, tasks, step)

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
        # as if there were many rows, so that there are tasks for all executors
        sent = self._runner.exchange(
            function, tasks, destinations, step, sources, rows=GROUPED.get(step)
        )
        if step in HELD:
            sent.results()
            signal(self._folder, step, "sent").touch()
            while not signal(self._folder, step, "go").exists():
                time.sleep(0.05)
        return sent


def _wait_for_executors(spark: SparkSession, folder: Path) -> None:
    """Until all workers have one again, and it works: one that Spark only knows of gets no task."""
    lost = {path.read_text() for path in folder.glob("*.go")}
    while True:
        found = set(spark.sparkContext._jsc.sc().getExecutorIds().mkString(" ").split())
        if len(found - lost) == WORKERS == len(found):
            break
        time.sleep(0.05)
    tasks = spark.sparkContext.parallelize(range(WORKERS), WORKERS).map(_executors_daemon)
    while len(set(tasks.collect())) < WORKERS:
        pass


def _executors_daemon(_: int) -> int:
    """Runs in the worker: the process that an executor starts its workers from."""
    time.sleep(0.3)  # so that an executor which is free takes the other task
    return os.getppid()


def main(master: str, crawl: str, folder: Path) -> None:
    from crawl.spark.session import open_session
    from crawl.spark.tasks import SparkRunner

    settings = {
        # on one machine Spark would read a dead neighbour's files from its disk
        "spark.shuffle.readHostLocalDisk": "false",
        "spark.executor.memory": "512m",
        "spark.shuffle.io.maxRetries": "1",
        "spark.shuffle.io.retryWait": "1s",
        "spark.ui.enabled": "false",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": folder.as_uri(),
    }
    log = folder / "driver.log"
    spark = open_session("held", Config.of(settings), master=master, log_file=log)
    _wait_for_executors(spark, folder)
    runner = _HeldRunner(SparkRunner(spark, quiet=True), folder)
    run_phases(runner, CrawlDir(crawl), lambda: _wait_for_executors(spark, folder))
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
