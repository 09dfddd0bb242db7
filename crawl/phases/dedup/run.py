"""dedup: records of the same page are marked, all but one.

Steps: clusters (near duplicates and evidence, where they are asked for) → compare (a task a
slice, then one for every share of the groups) → mark (a task for every slice in which a status
changes) → publish. Where nothing changes, nothing is published.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from crawl.clock import Clock
from crawl.config import Config
from crawl.config.properties import CRAWLDB_FILE_ROWS, CRAWLDB_SNAPSHOTS_KEEP
from crawl.counters import Counters
from crawl.driver.observed import observed
from crawl.driver.timing import timed
from crawl.errors import NothingToDo, UsageError
from crawl.model.report import Report
from crawl.phases.dedup.clusters import ClusterSteps
from crawl.phases.dedup.options import DedupOptions
from crawl.phases.dedup.preview import shown_pairs
from crawl.phases.dedup.rules import CANONICAL, REDIRECT, Grouping, Nearness, parse_order
from crawl.phases.dedup.tasks.decide import (
    DecideTaskResult,
    DedupTask,
    LargeGroup,
    alone,
    decide,
    mark_slice,
    send_candidates,
)
from crawl.phases.dedup.tasks.members import WantedGroups, gather_members, send_members
from crawl.phases.dedup.tasks.pairs import DoubtfulPairs
from crawl.phases.dedup.tasks.records import DedupJob
from crawl.phases.dedup.values import DuplicateGroup, PagePair
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.last_runs import note_run
from crawl.storage.manifest import BucketFile, Snapshot
from crawl.storage.snapshot import Transaction
from crawl.tables.bucket_files import crawldb_target, largest_first
from crawl.tables.exchange import Exchange
from crawl.tables.runner import Runner
from crawl.tables.slices import Slices

_ROWS_PER_DESTINATION = 1_000_000
"""Records of which one task decides, about."""


@dataclass(frozen=True, slots=True)
class DedupResult:
    """The current state, which is the one before if nothing changed, and what was done."""

    snapshot: Snapshot
    report: Report
    groups: tuple[DuplicateGroup, ...]
    """The largest, if they were asked for."""
    took_over: str | None
    pairs: tuple[PagePair, ...] = ()
    """Near duplicates of a preview."""


def check(options: DedupOptions) -> None:
    """Raises what is wrong with the options, before anything is started."""
    Grouping.of(options.group)
    _order(options)
    if options.near is not None:
        Nearness.parse(options.near)
    elif options.pair_count:
        raise UsageError("--preview shows what differs between near duplicates: it needs --near")


def _order(options: DedupOptions) -> tuple[str, ...]:
    asked = {CANONICAL: options.canonical, REDIRECT: options.redirects}
    return parse_order(options.compare_order, [name for name, given in asked.items() if given])


@observed("dedup")
def run(
    runner: Runner, crawl_dir: CrawlDir, config: Config, options: DedupOptions, clock: Clock
) -> DedupResult:
    """Marks duplicates and publishes a new snapshot of the CrawlDb, if a status changed; in a
    preview only says which ones it would mark."""
    report = Report("dedup", clock.now_ms(), config.digest(), asdict(options))
    check(options)
    crawl_dir.require_crawldb()
    with crawl_dir.writing_crawldb(
        "dedup", config, clock, steal_lock=options.steal_lock
    ) as transaction:
        base = crawl_dir.require_crawldb()
        slices = Slices.to_write(base, base.buckets, config[CRAWLDB_FILE_ROWS])
        job = DedupJob(
            transaction.folder,
            Grouping.of(options.group),
            _order(options),
            1 + base.rows // _ROWS_PER_DESTINATION,
        )
        steps = ClusterSteps(
            runner,
            crawl_dir,
            job,
            slices,
            transaction.scratch,
            report,
            doubtful=DoubtfulPairs(options.pair_count),
        )
        clusters = None
        if options.near is not None or options.canonical or options.redirects:
            with timed(report, "clusters", clock):
                clusters = _clusters(steps, options, config)
        source = _Source(runner, steps, clusters)
        with timed(report, "compare", clock):
            sent = source.send(send_candidates, "dedup: compare")
            decided = _decide(sent, job, slices, options)
            largest = _take_results(report, sent, decided)[: options.group_count]
        changes = int(decided.row_counts().sum())
        if not report.counters["records_compared"]:
            raise NothingToDo(
                f"{crawl_dir.address}: no record has a signature, which a page gets when it is"
                " parsed: nothing can be compared"
            )
        with timed(report, "report", clock):
            groups = _groups(source, largest, options.urls)
        if options.pair_count:
            report.counters["statuses_to_change"] = changes
            with timed(report, "preview", clock):
                pairs = shown_pairs(steps)
            report.finished_ms = clock.now_ms()
            return DedupResult(base, report, groups, transaction.lock.took_over, pairs)
        with timed(report, "mark", clock):
            snapshot = base
            files = _mark(decided, transaction, slices, config, report) if changes else None
        report.finished_ms = clock.now_ms()
        if files is not None:
            snapshot = transaction.publish(
                files, report, buckets=base.buckets, keep=config[CRAWLDB_SNAPSHOTS_KEEP]
            )
        note_run(crawl_dir, "dedup", crawldb=snapshot.number)
        return DedupResult(snapshot, report, groups, transaction.lock.took_over)


@dataclass(frozen=True, slots=True)
class _Source:
    """The slices, which send something by their keys: clusters, where there are any."""

    runner: Runner
    steps: ClusterSteps
    clusters: Exchange[Any] | None

    def send(self, function: Callable[..., Any], step: str) -> Exchange[Any]:
        job, slices, evidence = self.steps.job, self.steps.slices, self.steps.evidence
        tasks = largest_first(
            DedupTask(base, self.steps.scratch, evidence.get(base.number, {}))
            for base in slices.stored()
        )
        if self.clusters is None:
            return self.runner.exchange(
                partial(alone, function, job), tasks, job.destinations, step
            )
        addressed = [(task.base.number, task) for task in tasks]
        return self.clusters.send(partial(function, job), addressed, job.destinations, step)


def _clusters(steps: ClusterSteps, options: DedupOptions, config: Config) -> Exchange[Any]:
    if options.near is not None:
        steps.by_nearness(Nearness.parse(options.near))
    if options.canonical:
        steps.by_canonical(over_redirects=options.redirects)
    if options.redirects:
        steps.by_redirects(config)
    steps.by_signature()
    return steps.clusters()


def _decide(
    sent: Exchange[Any], job: DedupJob, slices: Slices, options: DedupOptions
) -> Exchange[DecideTaskResult]:
    tasks = [(number, number) for number in range(job.destinations)]
    deciding = partial(decide, job, options.group_count)
    return sent.send(deciding, tasks, len(slices), "dedup: decide")


def _take_results(
    report: Report, sent: Exchange[Counters], decided: Exchange[DecideTaskResult]
) -> list[LargeGroup]:
    """Counts what was found; returns the groups that tasks tell of."""
    groups: list[LargeGroup] = []
    for result in decided.results():
        report.counters += result.counters
        groups += result.largest
    for counters in sent.results():
        report.counters += counters
    return sorted(groups, key=lambda group: (-group.size, group.survivor))


def _mark(
    decided: Exchange[DecideTaskResult],
    transaction: Transaction,
    slices: Slices,
    config: Config,
    report: Report,
) -> list[BucketFile]:
    """The files of the CrawlDb; those of slices without a change stay."""
    target = crawldb_target(transaction.folder, transaction.place, config)
    changed = np.flatnonzero(decided.row_counts()).tolist()
    tasks = largest_first(slices.all[number] for number in changed)
    results = decided.run(
        partial(mark_slice, target), [(task.number, task) for task in tasks], "dedup: mark"
    )
    for result in results:
        report.counters += result.counters
    return slices.files_after(
        {task.number: result.files for task, result in zip(tasks, results, strict=True)}
    )


def _groups(source: _Source, groups: list[LargeGroup], urls: int) -> tuple[DuplicateGroup, ...]:
    """The largest groups with some of their URLs."""
    if not groups:
        return ()
    sent = source.send(partial(send_members, WantedGroups.of(groups, urls)), "dedup: report")
    tasks = [(number, number) for number in range(source.steps.job.destinations)]
    members = sent.run(partial(gather_members, groups, urls), tasks, "dedup: report")
    ordered = sorted((each for part in members for each in part), key=lambda each: each[0])
    return tuple(group for _, group in ordered)
