"""The crawler's side: the phases as the commands run them, on Spark with two cores."""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import crawldb_check
from crawldb_data import Made
from crawldb_shape import BenchClock

from crawl.config import Config, load
from crawl.config.properties import DB_STATS_SCORE_QUANTILES
from crawl.declared import declared_properties
from crawl.interfaces.chains import NormalizerChain
from crawl.interfaces.urlnormalizer import Scope
from crawl.model.report import Report
from crawl.phases.generate import run as generate
from crawl.phases.generate.options import GenerateOptions
from crawl.phases.inject import run as inject
from crawl.phases.inject.options import InjectOptions
from crawl.phases.updatedb import run as updatedb
from crawl.phases.updatedb.options import UpdateDbOptions
from crawl.readers.readdb import run as readdb
from crawl.spark.session import open_session
from crawl.spark.tasks import SparkRunner
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.segments import GENERATE
from crawl.tables.lookup import find_record
from crawl.urls.resolve import system_resolver

BASE_SNAPSHOT = 1


@dataclass(frozen=True, slots=True)
class Workload:
    """What both sides are asked for."""

    made: Made
    top_n: int
    max_count: int
    parts: int
    cores: int
    lookups: int
    overrides: tuple[str, ...] = ()
    """KEY=VALUE, as with -D."""

    @property
    def config(self) -> Config:
        """The defaults of a machine that has no site file, and the overrides."""
        settings = [f"generate.max.count={self.max_count}", *self.overrides]
        return load(settings, extra=declared_properties, working_folder=self.made.folder)


class Ours:
    def __init__(self, workload: Workload) -> None:
        self._work = workload
        self._config = workload.config
        self._crawl = CrawlDir(workload.made.crawl)
        self._clock = BenchClock()
        log = Path(tempfile.gettempdir()) / "nutria-bench-spark.log"
        master = f"local[{workload.cores}]"
        self._spark = open_session("bench", self._config, master=master, log_file=log)
        self._runner = SparkRunner(self._spark, quiet=True)
        self._restore()

    def close(self) -> None:
        self._spark.stop()

    def prepare(self, step: str) -> None:
        self._restore()
        if step == "updatedb":
            segments = f"{self._work.made.crawl}/segments"
            shutil.copytree(self._work.made.segments, segments, copy_function=os.link)

    def run(self, step: str) -> dict[str, Any]:
        match step:
            case "inject":
                options = InjectOptions((self._work.made.seeds,))
                done = inject.run(self._runner, self._crawl, self._config, options, self._clock)
                return _told(done.report)
            case "updatedb":
                chosen = UpdateDbOptions()
                told = updatedb.run(self._runner, self._crawl, self._config, chosen, self._clock)
                return {**_told(told.report), "rows_sent": told.report.counters["rows_sent"]}
            case "generate":
                return self._generate(filtering=True)
            case "generate --no-filter":
                return self._generate(filtering=False)
            case "readdb --stats":
                snapshot = self._crawl.require_crawldb()
                stats = readdb.stats(self._runner, self._crawl, snapshot, by_host=False)
                shares = self._config[DB_STATS_SCORE_QUANTILES]
                quantiles = stats.quantiles(shares)
                return {
                    "urls": stats.urls,
                    "statuses": dict(sorted(stats.statuses.items())),
                    "score_sum": stats.score.total,
                    "quantiles": list(quantiles.values()),
                }
            case "readdb --url":
                return self._look_up()
        raise ValueError(step)

    def facts(self, step: str) -> dict[str, Any]:
        folder = self._crawl.crawldb.folder
        if step in ("inject", "updatedb"):
            snapshot = self._crawl.require_crawldb()
            check = crawldb_check.of_updated if step == "updatedb" else crawldb_check.of_crawldb
            return check([folder.path(file.path) for file in snapshot.files])
        if step.startswith("generate"):
            (segment,) = self._crawl.segments.generated()
            place = segment.part_folder(GENERATE)
            files = [place.path(file.path) for file in segment.require(GENERATE).files]
            return {**crawldb_check.of_lists(files), "parts": len(files)}
        return {}

    def _restore(self) -> None:
        """The CrawlDb as it was made, and no segments."""
        with self._crawl.writing_crawldb("bench", self._config, self._clock) as transaction:
            if transaction.timeline.current != BASE_SNAPSHOT:
                transaction.roll_back(BASE_SNAPSHOT)
            transaction.keep_newest(1)
        self._crawl.folder.delete("segments")

    def _generate(self, *, filtering: bool) -> dict[str, Any]:
        options = GenerateOptions(
            top_n=self._work.top_n, num_fetchers=self._work.parts, filter=filtering
        )
        done = generate.run(
            self._runner,
            self._crawl,
            self._config,
            options,
            self._clock,
            resolver=system_resolver,
        )
        return _told(done.report)

    def _look_up(self) -> dict[str, Any]:
        """As `readdb --url` answers once it has started: from the pointer to the record."""
        known, absent = self._work.made.probes()
        return {
            "known_ms": self._median_ms(known, wanted=True),
            "absent_ms": self._median_ms(absent, wanted=False),
        }

    def _median_ms(self, urls: list[str], *, wanted: bool) -> float:
        spent = []
        for url in urls[: self._work.lookups]:
            drop_from_cache(self._crawl)
            started = time.perf_counter()
            snapshot = self._crawl.require_crawldb()
            found = find_record(self._crawl.crawldb.folder, snapshot, url)
            if found is None:
                chain = NormalizerChain.from_config(self._config, Scope.DEFAULT)
                normal = chain.normalize(url)
                if normal is not None and normal != url:
                    found = find_record(self._crawl.crawldb.folder, snapshot, normal)
            spent.append(time.perf_counter() - started)
            if (found is not None) != wanted:
                raise AssertionError(f"{url}: found {found}, wanted {wanted}")
        return statistics.median(spent) * 1000


def _told(report: Report) -> dict[str, Any]:
    """Durations of a phase's steps, and what its tasks sent each other."""
    exchanged = report.engine.bytes_exchanged if report.engine is not None else None
    return {**report.durations_s, "bytes_exchanged": exchanged}


def drop_from_cache(crawl: CrawlDir) -> None:
    """Takes the CrawlDb's files out of the page cache, so that a look-up reads the disk."""
    for file in crawl.require_crawldb().files:
        descriptor = os.open(crawl.crawldb.folder.path(file.path), os.O_RDONLY)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)
