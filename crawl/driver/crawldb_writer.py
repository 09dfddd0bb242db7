"""What phases that write the CrawlDb anew do alike: lock it, rewrite slices and publish."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from crawl.clock import Clock
from crawl.config import Config
from crawl.config.properties import CRAWLDB_BUCKETS, CRAWLDB_FILE_ROWS, CRAWLDB_SNAPSHOTS_KEEP
from crawl.interfaces.chains import FilterChain, NormalizerChain
from crawl.interfaces.scoring_chain import ScoringChain
from crawl.interfaces.urlnormalizer import Scope
from crawl.model.report import Report
from crawl.operations.results import PhaseResult
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.manifest import BucketFile, Snapshot
from crawl.storage.snapshot import Transaction
from crawl.tables.bucket_files import BucketTarget, WrittenBucket, crawldb_target, largest_first
from crawl.tables.exchange import Exchange, Received
from crawl.tables.slices import Slice, Slices


@dataclass(frozen=True, slots=True)
class CrawlDbUpdate:
    """The published state and what was done."""

    snapshot: Snapshot
    report: Report
    took_over: str | None
    remarks: tuple[str, ...] = ()
    """Lines for the operator, such as about segments that were passed over."""
    segments: tuple[str, ...] = ()
    """Those that were applied."""

    @property
    def phase_result(self) -> PhaseResult:
        return PhaseResult.of(
            self.report,
            snapshot=self.snapshot.number,
            db_urls=self.snapshot.rows,
            segments=self.segments,
            remarks=(*self.remarks, self.took_over),
        )


@dataclass(frozen=True, slots=True)
class CrawlDbWriter:
    """The CrawlDb while a phase has its lock."""

    config: Config
    clock: Clock
    report: Report
    transaction: Transaction
    slices: Slices

    @property
    def target(self) -> BucketTarget:
        """Where its new files go."""
        return crawldb_target(self.transaction.folder, self.transaction.place, self.config)

    def rewrite(
        self,
        sent: Exchange[Any],
        function: Callable[[Slice, Received], WrittenBucket],
        slices: Iterable[Slice],
        step: str,
    ) -> list[BucketFile]:
        """The files of the CrawlDb after `function` has written these slices anew with what was
        sent to them; the others' files stay as they are."""
        tasks = largest_first(slices)
        results = sent.run(function, [(task.number, task) for task in tasks], step)
        for result in results:
            self.report.counters += result.counters
        return self.slices.files_after(
            {task.number: result.files for task, result in zip(tasks, results, strict=True)}
        )

    def publish(
        self,
        files: Iterable[BucketFile],
        *,
        applying: tuple[str, ...] = (),
        hosts: Iterable[BucketFile] | None = None,
        remarks: Iterable[str] = (),
    ) -> CrawlDbUpdate:
        """Makes the files the CrawlDb's current state (see `Transaction.publish`)."""
        self.report.finished_ms = self.clock.now_ms()
        snapshot = self.transaction.publish(
            files,
            self.report,
            buckets=self.slices.buckets,
            keep=self.config[CRAWLDB_SNAPSHOTS_KEEP],
            applying=applying,
            hosts=hosts,
        )
        took_over = self.transaction.lock.took_over
        return CrawlDbUpdate(snapshot, self.report, took_over, tuple(remarks), applying)


def new_url_plugins(
    config: Config, *, normalize: bool, filter_urls: bool
) -> tuple[NormalizerChain | None, FilterChain | None, ScoringChain]:
    """What URLs go through that are to be new records; raises what is wrong with the settings."""
    return (
        NormalizerChain.from_config(config, Scope.INJECT) if normalize else None,
        FilterChain.from_config(config) if filter_urls else None,
        ScoringChain.from_config(config),
    )


@contextmanager
def crawldb_writer(
    crawl_dir: CrawlDir, config: Config, clock: Clock, report: Report, *, steal_lock: bool
) -> Iterator[CrawlDbWriter]:
    """Locks the CrawlDb for the phase of the report; a new one gets `crawldb.buckets` buckets."""
    with crawl_dir.writing_crawldb(
        report.phase, config, clock, steal_lock=steal_lock
    ) as transaction:
        base = transaction.base
        buckets = base.buckets if base else config[CRAWLDB_BUCKETS]
        slices = Slices.to_write(base, buckets, config[CRAWLDB_FILE_ROWS])
        yield CrawlDbWriter(config, clock, report, transaction, slices)
