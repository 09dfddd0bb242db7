"""dedup: records of the same page are marked, all but one.

Steps: clusters (near duplicates and evidence, where they are asked for) → compare (a task a
slice, then one for every share of the groups) → mark (a task for every slice in which a status
changes) → publish. Where nothing changes, nothing is published.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np

from crawl.clock import Clock
from crawl.config import Config
from crawl.counters import Counters
from crawl.driver.crawldb_writer import CrawlDbUpdate, crawldb_writer
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
from crawl.tables.bucket_files import largest_first
from crawl.tables.exchange import Exchange, alone, numbered
from crawl.tables.runner import Runner

_ROWS_PER_DESTINATION = 1_000_000
"""Records of which one task decides, about."""


@dataclass(frozen=True, slots=True)
class DedupResult(CrawlDbUpdate):
    """The current state, which is the one before if nothing changed, and what was done."""

    groups: tuple[DuplicateGroup, ...] = ()
    """The largest, if they were asked for."""
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
    return parse_order(options.compare_order, [name for name, is_set in asked.items() if is_set])


@observed("dedup")
def run(
    runner: Runner, crawl_dir: CrawlDir, config: Config, options: DedupOptions, clock: Clock
) -> DedupResult:
    """Marks duplicates and publishes a new snapshot of the CrawlDb, if a status changed; in a
    preview only says which ones it would mark."""
    report = Report("dedup", clock.now_ms(), config.digest(), asdict(options))
    check(options)
    crawl_dir.require_crawldb()
    with crawldb_writer(crawl_dir, config, clock, report, steal_lock=options.steal_lock) as writer:
        base, transaction = crawl_dir.require_crawldb(), writer.transaction
        destinations = 1 + base.rows // _ROWS_PER_DESTINATION
        grouping, order = Grouping.of(options.group), _order(options)
        job = DedupJob(transaction.folder, grouping, order, destinations)
        doubtful = DoubtfulPairs(options.pair_count)
        steps = ClusterSteps(
            runner, crawl_dir, job, writer.slices, transaction.scratch, report, doubtful=doubtful
        )
        clusters = None
        if options.near is not None or options.canonical or options.redirects:
            with timed(report, "clusters", clock):
                clusters = _clusters(steps, options, config)
        send = partial(_send, steps, clusters)
        with timed(report, "compare", clock):
            sent = send(send_candidates, "dedup: compare")
            deciding = partial(decide, job, options.group_count)
            tasks, count = numbered(destinations), len(writer.slices)
            decided = sent.send(deciding, tasks, count, "dedup: decide")
            largest = _take_results(report, sent, decided)[: options.group_count]
        changes = decided.row_counts()
        if not report.counters["records_compared"]:
            raise NothingToDo(
                f"{crawl_dir.address}: no record has a signature, which a page gets when it is"
                " parsed: nothing can be compared"
            )
        with timed(report, "report", clock):
            groups = _groups(send, largest, options.urls, destinations)
        if options.pair_count:
            report.counters["statuses_to_change"] = int(changes.sum())
            with timed(report, "preview", clock):
                pairs = shown_pairs(steps)
            report.finished_ms = clock.now_ms()
            return DedupResult(base, report, transaction.lock.took_over, groups=groups, pairs=pairs)
        with timed(report, "mark", clock):
            changed = [writer.slices.all[number] for number in np.flatnonzero(changes)]
            mark = partial(mark_slice, writer.target)
            files = writer.rewrite(decided, mark, changed, "dedup: mark") if changed else []
        report.finished_ms = clock.now_ms()
        snapshot = writer.publish(files).snapshot if changed else base
        note_run(crawl_dir, "dedup", crawldb=snapshot.number)
        return DedupResult(snapshot, report, transaction.lock.took_over, groups=groups)


def _send(
    steps: ClusterSteps, clusters: Exchange[Any] | None, function: Callable[..., Any], step: str
) -> Exchange[Any]:
    """Has the slices send something by their keys: clusters, where there are any."""
    job, runner = steps.job, steps.runner
    tasks = [
        DedupTask(base, steps.scratch, steps.evidence.get(base.number, {}))
        for base in largest_first(steps.slices.stored())
    ]
    if clusters is None:
        sending = partial(alone, partial(function, job))
        return runner.exchange(sending, tasks, job.destinations, step)
    addressed = [(task.base.number, task) for task in tasks]
    return clusters.send(partial(function, job), addressed, job.destinations, step)


def _clusters(steps: ClusterSteps, options: DedupOptions, config: Config) -> Exchange[Any]:
    if options.near is not None:
        steps.by_nearness(Nearness.parse(options.near))
    if options.canonical:
        steps.by_canonical(over_redirects=options.redirects)
    if options.redirects:
        steps.by_redirects(config)
    steps.by_signature()
    return steps.clusters()


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


def _groups(
    send: Callable[..., Exchange[Any]], groups: list[LargeGroup], urls: int, destinations: int
) -> tuple[DuplicateGroup, ...]:
    """The largest groups with some of their URLs."""
    if not groups:
        return ()
    sent = send(partial(send_members, WantedGroups.of(groups, urls)), "dedup: report")
    gather = partial(gather_members, groups, urls)
    members = sent.run(gather, numbered(destinations), "dedup: report")
    ordered = sorted(chain.from_iterable(members), key=itemgetter(0))
    return tuple(group for _, group in ordered)
