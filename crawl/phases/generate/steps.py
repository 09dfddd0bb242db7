"""The steps of generate as its driver puts them together: which URLs may be taken and where the cut
of each segment is; then chains are dealt to parts, and lists are written and published."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from crawl.clock import Clock
from crawl.config import Config, properties
from crawl.counters import Counters
from crawl.driver.timing import timed
from crawl.model.derived_tables import HOSTDB
from crawl.model.report import Report
from crawl.phases.generate.options import GenerateOptions
from crawl.phases.generate.tasks.balance import balance_parts
from crawl.phases.generate.tasks.chains import ChainShard, ChainsJob, deal_shard
from crawl.phases.generate.tasks.collect import CollectJob, CollectTaskResult
from crawl.phases.generate.tasks.cutoff import TAKE_ALL, Bracket, next_step, settle_cuts
from crawl.phases.generate.tasks.host_bounds import HostsFile, send_automatic
from crawl.phases.generate.tasks.lists import ListTask, mark_slice, write_list
from crawl.phases.generate.tasks.ranking import Cut
from crawl.phases.generate.tasks.scan import ScanJob, ScanTask, ScanTaskResult, scan_slice
from crawl.phases.generate.tasks.selection import Selection, is_automatic, most_per_host
from crawl.phases.generate.tasks.shards import Shard, summarize_shard
from crawl.phases.generate.tasks.unfinished import (
    NOT_AGAIN,
    ListFile,
    list_files,
    send_list,
    unfinished_segments,
)
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.manifest import Snapshot
from crawl.storage.segments import GENERATE, PartFile, PartManifest, committed_note
from crawl.storage.snapshot import Transaction
from crawl.tables.bucket_files import crawldb_target, largest_first
from crawl.tables.exchange import BlockSource, Exchange, Outbox, alone, by_number
from crawl.tables.runner import Runner
from crawl.tables.slices import Router, Slices
from crawl.urls.partition import PartitionMode, Resolver

_SUMMARY_KEYS = 1_000_000
"""How many keys all shards together send to the driver at a time to find a cut."""
_CHAINS_TOLD = 200_000
"""Chains of which the driver hears one by one; of the others it hears sums."""
_SLOTS_PER_PART = 64
"""Sums of short chains that there are for each part to be filled with: an even number of URLs to
within a hundredth."""
_ROWS_PER_CHAIN_SHARD = 250_000
"""Records that one task counts and deals."""

Matching = Callable[[Snapshot, Slices], BlockSource]
"""Evaluates `--expr` over a snapshot: brings the rows that it holds for to their slices."""

Bounding = Callable[[Snapshot, Router], BlockSource]
"""Evaluates expressions over a snapshot of the HostDb: brings what they give to the slices."""


@dataclass(frozen=True, slots=True)
class GenerateRun:
    """One run of generate."""

    runner: Runner
    crawl_dir: CrawlDir
    config: Config
    options: GenerateOptions
    clock: Clock
    transaction: Transaction
    report: Report
    selection: Selection
    base: Snapshot
    slices: Slices
    hostdb: Snapshot | None
    """The HostDb, where the settings need it."""
    not_again: tuple[str, ...] = ()
    """Names of segments whose URLs are not selected once more, however due they are."""

    @property
    def part_count(self) -> int:
        """How many parts a list has."""
        return self.options.num_fetchers or 1


def find_candidates(
    work: GenerateRun, matching: Matching | None, bounding: Bounding | None
) -> Exchange[ScanTaskResult]:
    """The candidates, which are looked for as soon as somebody wants to have them."""
    base, slices, hostdb, step = work.base, work.slices, work.hostdb, "generate: scan"
    hosts = {file.bucket: file for file in base.hosts}
    tasks = [ScanTask(each, hosts.get(each.bucket)) for each in largest_first(slices.stored())]
    router = slices.router
    job = ScanJob(work.selection, work.transaction.folder, router, has_expr=matching is not None)
    lists = _lists(work)
    if not lists and matching is None and hostdb is None:
        scan = partial(alone, partial(scan_slice, job))
        return work.runner.exchange(scan, tasks, len(slices), step, rows=base.rows)
    sources = [] if matching is None else [matching(base, slices)]
    if hostdb is not None and bounding is not None:
        sources.append(bounding(hostdb, router))
    exchange = work.runner.exchange(
        partial(_send_known, router),
        [*lists, *_automatic(work)],
        len(slices),
        "generate: lists of unfinished segments",
        sources,
        rows=base.rows + (0 if hostdb is None else hostdb.rows),
    )
    addressed = [(task.base.number, task) for task in tasks]
    return exchange.send(partial(scan_slice, job), addressed, len(slices), step)


def _automatic(work: GenerateRun) -> list[HostsFile]:
    """The files of the HostDb whose hosts have automatic bounds."""
    if work.hostdb is None or not is_automatic(work.config):
        return []
    folder = work.crawl_dir.dataset(HOSTDB).folder
    most = work.config[properties.GENERATE_MAX_COUNT_AUTO]
    work.report.details["hostdb_snapshot"] = work.hostdb.number
    return [HostsFile(folder, file.path, file.rows, most) for file in work.hostdb.files]


def _lists(work: GenerateRun) -> list[ListFile]:
    """The lists of segments that the CrawlDb has not taken in yet: their URLs are another fetch's,
    in this shell or in another. And those whose URLs are not to be selected once more, as far as
    they are still here."""
    segments, selection = work.crawl_dir.segments.generated(), work.selection
    unfinished = unfinished_segments(
        segments, work.base.applied, selection.now_ms, selection.reserved_ms
    )
    if unfinished:
        work.report.details["unfinished_segments"] = [segment.name for segment in unfinished]
    not_again = (segment for segment in segments if segment.name in work.not_again)
    return [*list_files(unfinished), *list_files(not_again, NOT_AGAIN)]


def settle_segment_cuts(work: GenerateRun, candidates: Exchange[ScanTaskResult]) -> list[Shard]:
    """Every shard with its cuts, one for each segment that gets anything."""
    top_n, rows, segment_count = work.options.top_n, work.base.rows, work.selection.segments
    shards = [Shard(number, []) for number in range(len(work.slices))]
    cuts: list[Cut] = [TAKE_ALL] * len(shards)
    if segment_count == 1 and (top_n is None or rows <= top_n):
        return _with_cuts(shards, cuts)
    step = max(1, rows // _SUMMARY_KEYS)
    with timed(work.report, "cut", work.clock):
        for _ in range(segment_count):
            cuts = _cuts(work, candidates, shards, step)
            if not cuts:
                break
            shards = _with_cuts(shards, cuts)
    return shards


def _with_cuts(shards: list[Shard], cuts: list[Cut]) -> list[Shard]:
    pairs = zip(shards, cuts, strict=True)
    return [Shard(shard.number, [*shard.cuts, cut]) for shard, cut in pairs]


def _cuts(
    work: GenerateRun, candidates: Exchange[ScanTaskResult], shards: list[Shard], step: int
) -> list[Cut]:
    """The cuts of the next segment, one for each shard; none where no candidate is left."""
    cap, limits = most_per_host(work.config), Bracket()
    look = partial(summarize_shard, cap, limits, step)
    summaries = candidates.run(look, by_number(shards), "generate: rank")
    total, top_n = sum(summary.count for summary in summaries), work.options.top_n
    if total == 0:
        return []
    if top_n is None or total <= top_n:
        return [TAKE_ALL] * len(shards)
    while isinstance(outcome := settle_cuts(summaries, limits, step, top_n), Bracket):
        limits, step = outcome, next_step(len(shards), step, _SUMMARY_KEYS)
        look = partial(summarize_shard, cap, limits, step)
        summaries = candidates.run(look, by_number(shards), "generate: cut")
    return outcome


def _send_known(router: Router, task: ListFile | HostsFile, outbox: Outbox) -> None:
    """Sends the URLs of a list, or the bounds of hosts, to the CrawlDb's slices."""
    if isinstance(task, HostsFile):
        send_automatic(router, task, outbox)
    else:
        send_list(router, task, outbox)


def chain_jobs(work: GenerateRun, resolver: Resolver) -> tuple[CollectJob, ChainsJob]:
    """What collects records, and what counts and deals their chains: in as few tasks as can
    hold the records, for most selections are small."""
    base, most = work.base, work.selection.most
    rows = base.rows if most is None else min(base.rows, most)
    shards = min(base.buckets, -(-rows // _ROWS_PER_CHAIN_SHARD)) or 1
    collect = CollectJob(
        crawldb=work.transaction.folder,
        now_ms=work.report.started_ms,
        mode=PartitionMode(work.config[properties.PARTITION_URL_MODE]),
        resolver=resolver,
        shards=shards,
    )
    chains = ChainsJob(
        shards=shards,
        slots=-(-_SLOTS_PER_PART * work.part_count // shards),
        most_chains=-(-_CHAINS_TOLD // shards),
        delay_s=work.config[properties.FETCHER_SERVER_DELAY],
        latency_s=work.config[properties.GENERATE_EXPECTED_LATENCY],
    )
    return collect, chains


def write_lists(
    work: GenerateRun,
    collected: Exchange[CollectTaskResult],
    job: ChainsJob,
    counted: list[ChainShard],
) -> list[tuple[str, PartManifest]]:
    """Deals the chains to parts and writes the fetch lists."""
    numbers = [column for shard in counted for column in (shard.segment, shard.slots.segment)]
    count = 1 + int(np.concatenate(numbers).max())
    names = work.crawl_dir.segments.new_names(work.report.started_ms, count)
    parts = work.part_count
    balance = balance_parts(
        counted,
        {number: name for each in collected.results() for number, name in each.names.items()},
        names,
        parts,
        threads=work.config[properties.FETCHER_THREADS_FETCH],
        latency_s=work.config[properties.GENERATE_EXPECTED_LATENCY],
    )
    work.report.counters["segments_generated"] = count
    work.report.details["segments"] = balance.predictions
    dealt = collected.send(
        partial(deal_shard, job), list(enumerate(balance.tasks)), count * parts, "generate: deal"
    )
    tasks = []
    for number, described in enumerate(balance.predictions):
        folder = work.crawl_dir.segments.segment(names[number]).part_folder(GENERATE)
        tasks += [
            ListTask(folder, part, number * parts + part)
            for part, load in enumerate(described["parts"])
            if load["urls"]
        ]
    with timed(work.report, "list", work.clock):
        written = dealt.run(
            partial(write_list, work.config[properties.CRAWLDB_ROW_GROUP_SIZE]),
            [(task.destination, task) for task in tasks],
            "generate: write fetch lists",
        )
    created = work.clock.now_ms()
    files: list[list[PartFile]] = [[] for _ in names]
    for task, file in zip(tasks, written, strict=True):
        files[task.destination // parts].append(file)
    return [
        (name, PartManifest(tuple(each), created)) for name, each in zip(names, files, strict=True)
    ]


def publish_segments(
    work: GenerateRun, assigned: Exchange[Counters], manifests: list[tuple[str, PartManifest]]
) -> list[str]:
    segments = work.crawl_dir.segments
    marks = None
    if work.config[properties.GENERATE_UPDATE_CRAWLDB]:
        target = crawldb_target(work.transaction.folder, work.transaction.place, work.config)
        rows = assigned.row_counts()
        tasks = largest_first(each for each in work.slices.all if rows[each.number])
        mark = partial(mark_slice, target, work.report.started_ms)
        with timed(work.report, "mark", work.clock):
            files = assigned.run(mark, by_number(tasks), "generate: mark")
        marks = {task.number: written for task, written in zip(tasks, files, strict=True)}
    work.report.finished_ms = work.clock.now_ms()
    for name, _ in manifests:
        segments.segment(name).write_report(GENERATE, work.report)
    if marks is not None:
        # the snapshot commits the lists too: marked URLs without a list cannot be
        work.transaction.publish(
            work.slices.files_after(marks),
            work.report,
            buckets=work.base.buckets,
            keep=work.config[properties.CRAWLDB_SNAPSHOTS_KEEP],
            notes=committed_note(manifests),
        )
    work.transaction.lock.verify()
    for name, manifest in manifests:
        segments.segment(name).publish(GENERATE, manifest)
    return [name for name, _ in manifests]
