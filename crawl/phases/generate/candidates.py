"""The first half of generate: which URLs may be taken, and where the cut of each segment is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from crawl.config import Config
from crawl.config.properties import GENERATE_MAX_COUNT_AUTO, GENERATE_MAX_NUM_SEGMENTS
from crawl.driver.timing import timed
from crawl.model.derived_tables import HOSTDB
from crawl.phases.generate.shared import GenerateRun
from crawl.phases.generate.tasks.cutoff import TAKE_ALL, Bracket, next_step, settle_cuts
from crawl.phases.generate.tasks.host_bounds import HostsFile, send_automatic
from crawl.phases.generate.tasks.ranking import Cut
from crawl.phases.generate.tasks.scan import (
    ScanJob,
    ScanTask,
    ScanTaskResult,
    scan_alone,
    scan_slice,
)
from crawl.phases.generate.tasks.selection import is_automatic, most_per_host
from crawl.phases.generate.tasks.shards import RankJob, Shard, summarize_shard
from crawl.phases.generate.tasks.unfinished import (
    NOT_AGAIN,
    ListFile,
    list_files,
    send_list,
    unfinished_segments,
)
from crawl.storage.manifest import Snapshot
from crawl.storage.segments import Segment
from crawl.tables.exchange import BlockSource, Exchange, Outbox
from crawl.tables.slices import Router, Slice, Slices

_SUMMARY_KEYS = 1_000_000
"""How many keys all shards together send to the driver at a time to find a cut."""

Matching = Callable[[Snapshot, Slices], BlockSource]
"""Evaluates `--expr` over a snapshot: brings the rows that it holds for to their slices."""

Bounding = Callable[[Snapshot, Router], BlockSource]
"""Evaluates expressions over a snapshot of the HostDb: brings what they give to the slices."""


@dataclass(frozen=True, slots=True)
class HostBounds:
    """The HostDb, and what evaluates expressions over it."""

    hostdb: Snapshot
    bounding: Bounding | None


def find_candidates(
    work: GenerateRun,
    base: Snapshot,
    slices: Slices,
    stored: list[Slice],
    matching: Matching | None,
    bounds: HostBounds | None,
) -> Exchange[ScanTaskResult]:
    """The candidates, which are looked for as soon as somebody wants to have them."""
    hosts = {file.bucket: file for file in base.hosts}
    tasks = [(each.number, ScanTask(each, hosts.get(each.bucket))) for each in stored]
    router = slices.router
    job = ScanJob(work.selection, work.transaction.folder, router, has_expr=matching is not None)
    segments = list(work.crawl_dir.segments.generated())
    lists = [*_unfinished_lists(work, base, segments), *_lists_not_again(work, segments)]
    if not lists and matching is None and bounds is None:
        scan = partial(scan_alone, job)
        alone = [task for _, task in tasks]
        step = "generate: scan"
        return work.runner.exchange(scan, alone, len(slices), step, rows=base.rows)
    sources = [] if matching is None else [matching(base, slices)]
    if bounds is not None and bounds.bounding is not None:
        sources.append(bounds.bounding(bounds.hostdb, router))
    exchange = work.runner.exchange(
        partial(_send_known, router),
        [*lists, *_automatic(work, bounds)],
        len(slices),
        "generate: lists of unfinished segments",
        sources,
        rows=base.rows + (0 if bounds is None else bounds.hostdb.rows),
    )
    return exchange.send(partial(scan_slice, job), tasks, len(slices), "generate: scan")


def _automatic(work: GenerateRun, bounds: HostBounds | None) -> list[HostsFile]:
    """The files of the HostDb whose hosts have automatic bounds."""
    if bounds is None or not is_automatic(work.config):
        return []
    folder = work.crawl_dir.dataset(HOSTDB).folder
    most = work.config[GENERATE_MAX_COUNT_AUTO]
    work.report.details["hostdb_snapshot"] = bounds.hostdb.number
    return [HostsFile(folder, file.path, file.rows, most) for file in bounds.hostdb.files]


def _unfinished_lists(
    work: GenerateRun, base: Snapshot, segments: Sequence[Segment]
) -> list[ListFile]:
    """The lists of segments that the CrawlDb has not taken in yet: their URLs are another
    fetch's, in this shell or in another."""
    selection = work.selection
    unfinished = unfinished_segments(
        segments, base.applied, selection.now_ms, selection.reserved_ms
    )
    if unfinished:
        work.report.details["unfinished_segments"] = [segment.name for segment in unfinished]
    return list_files(unfinished)


def _lists_not_again(work: GenerateRun, segments: Sequence[Segment]) -> list[ListFile]:
    """The lists whose URLs are not to be selected once more, as far as they are still here."""
    names = frozenset(work.not_again)
    return list_files((each for each in segments if each.name in names), NOT_AGAIN)


def settle_segment_cuts(
    work: GenerateRun, base: Snapshot, slices: Slices, candidates: Exchange[ScanTaskResult]
) -> list[Shard]:
    """Every shard with its cuts, one for each segment that gets anything."""
    top_n = work.options.top_n
    segment_count = _max_segments(work)
    takes_all = top_n is None or base.rows <= top_n
    if takes_all and segment_count == 1:
        return [Shard(number, [TAKE_ALL]) for number in range(len(slices))]
    shards = [Shard(number, []) for number in range(len(slices))]
    step = max(1, base.rows // _SUMMARY_KEYS)
    with timed(work.report, "cut", work.clock):
        for _ in range(segment_count):
            cuts = _cuts(work, candidates, shards, step)
            if not cuts:
                break
            shards = [
                replace(shard, cuts=[*shard.cuts, cut])
                for shard, cut in zip(shards, cuts, strict=True)
            ]
    return shards


def _cuts(
    work: GenerateRun, candidates: Exchange[ScanTaskResult], shards: list[Shard], step: int
) -> list[Cut]:
    """The cuts of the next segment, one for each shard; none where no candidate is left."""
    job, limits = ranking(work.config), Bracket()
    look = partial(summarize_shard, job, limits, step)
    summaries = candidates.run(look, by_number(shards), "generate: rank")
    total, top_n = sum(summary.count for summary in summaries), work.options.top_n
    if total == 0:
        return []
    if top_n is None or total <= top_n:
        return [TAKE_ALL] * len(shards)
    while isinstance(outcome := settle_cuts(summaries, limits, step, top_n), Bracket):
        limits, step = outcome, next_step(len(shards), step, _SUMMARY_KEYS)
        look = partial(summarize_shard, job, limits, step)
        summaries = candidates.run(look, by_number(shards), "generate: cut")
    return outcome


def ranking(config: Config) -> RankJob:
    """How the shards rank candidates."""
    return RankJob(most_per_host(config))


def _max_segments(work: GenerateRun) -> int:
    limit = work.options.max_num_segments
    return work.config[GENERATE_MAX_NUM_SEGMENTS] if limit is None else limit


def _send_known(router: Router, task: ListFile | HostsFile, outbox: Outbox) -> None:
    """Sends the URLs of a list, or the bounds of hosts, to the CrawlDb's slices."""
    if isinstance(task, HostsFile):
        send_automatic(router, task, outbox)
    else:
        send_list(router, task, outbox)


def by_number(shards: list[Shard]) -> list[tuple[int, Shard]]:
    """Each with the number of the destination that works on it."""
    return [(shard.number, shard) for shard in shards]
