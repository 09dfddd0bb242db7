"""The second half of generate: chains are dealt to parts, and lists are written and published."""

from __future__ import annotations

from functools import partial

from crawl.config.properties import (
    CRAWLDB_ROW_GROUP_SIZE,
    CRAWLDB_SNAPSHOTS_KEEP,
    FETCHER_SERVER_DELAY,
    FETCHER_THREADS_FETCH,
    GENERATE_EXPECTED_LATENCY,
    GENERATE_UPDATE_CRAWLDB,
    PARTITION_URL_MODE,
)
from crawl.counters import Counters
from crawl.driver.timing import timed
from crawl.phases.generate.shared import GenerateRun
from crawl.phases.generate.tasks.balance import balance_parts
from crawl.phases.generate.tasks.chains import ChainShard, ChainsJob, deal_shard
from crawl.phases.generate.tasks.collect import CollectJob, CollectTaskResult
from crawl.phases.generate.tasks.lists import ListTask, MarkJob, mark_slice, write_list
from crawl.storage.manifest import Snapshot
from crawl.storage.segments import GENERATE, PartManifest, committed_note
from crawl.tables.bucket_files import crawldb_target, largest_first
from crawl.tables.exchange import Exchange
from crawl.tables.slices import Slices
from crawl.urls.partition import PartitionMode, Resolver

_CHAINS_TOLD = 200_000
"""Chains of which the driver hears one by one; of the others it hears sums."""
_SLOTS_PER_PART = 64
"""Sums of short chains that there are for each part to be filled with: an even number of URLs to
within a hundredth."""
_ROWS_PER_CHAIN_SHARD = 250_000
"""Records that one task counts and deals."""


def chain_jobs(
    work: GenerateRun, base: Snapshot, resolver: Resolver
) -> tuple[CollectJob, ChainsJob]:
    """What collects records, and what counts and deals their chains: in as few tasks as can
    hold the records, for most selections are small."""
    most = base.rows if work.selection.most is None else min(base.rows, work.selection.most)
    shards = min(base.buckets, -(-most // _ROWS_PER_CHAIN_SHARD)) or 1
    collect = CollectJob(
        crawldb=work.transaction.folder,
        now_ms=work.report.started_ms,
        mode=PartitionMode(work.config[PARTITION_URL_MODE]),
        resolver=resolver,
        shards=shards,
    )
    chains = ChainsJob(
        shards=shards,
        slots=-(-_SLOTS_PER_PART * work.part_count // shards),
        most_chains=-(-_CHAINS_TOLD // shards),
        delay_s=work.config[FETCHER_SERVER_DELAY],
        latency_s=work.config[GENERATE_EXPECTED_LATENCY],
    )
    return collect, chains


def write_lists(
    work: GenerateRun,
    collected: Exchange[CollectTaskResult],
    job: ChainsJob,
    counted: list[ChainShard],
) -> list[tuple[str, PartManifest]]:
    """Deals the chains to parts and writes the fetch lists."""
    segments = [
        int(numbers.max())
        for shard in counted
        for numbers in (shard.segment, shard.slots.segment)
        if len(numbers)
    ]
    count = 1 + max(segments)
    names = work.crawl_dir.segments.new_names(work.report.started_ms, count)
    parts = work.part_count
    balance = balance_parts(
        counted,
        {number: name for each in collected.results() for number, name in each.names.items()},
        names,
        parts,
        threads=work.config[FETCHER_THREADS_FETCH],
        latency_s=work.config[GENERATE_EXPECTED_LATENCY],
    )
    work.report.counters["segments_generated"] = count
    work.report.details["segments"] = balance.predictions
    dealt = collected.send(
        partial(deal_shard, job),
        list(enumerate(balance.tasks)),
        count * parts,
        "generate: deal",
    )
    used = [
        (number, part)
        for number, described in enumerate(balance.predictions)
        for part, load in enumerate(described["parts"])
        if load["urls"]
    ]
    tasks = [
        ListTask(
            work.crawl_dir.segments.segment(names[number]).part_folder(GENERATE),
            part,
            number * parts + part,
        )
        for number, part in used
    ]
    with timed(work.report, "list", work.clock):
        written = dealt.run(
            partial(write_list, work.config[CRAWLDB_ROW_GROUP_SIZE]),
            [(task.destination, task) for task in tasks],
            "generate: write fetch lists",
        )
    created = work.clock.now_ms()
    manifests = []
    for number, name in enumerate(names):
        files = [
            file
            for file, task in zip(written, tasks, strict=True)
            if task.destination // parts == number
        ]
        manifests.append((name, PartManifest(tuple(files), created)))
    return manifests


def publish_segments(
    work: GenerateRun,
    base: Snapshot,
    slices: Slices,
    assigned: Exchange[Counters],
    manifests: list[tuple[str, PartManifest]],
) -> list[str]:
    segments = work.crawl_dir.segments
    marks = None
    if work.config[GENERATE_UPDATE_CRAWLDB]:
        target = crawldb_target(work.transaction.folder, work.transaction.place, work.config)
        job = MarkJob(target, work.report.started_ms)
        rows = assigned.row_counts()
        tasks = largest_first(each for each in slices.all if rows[each.number])
        with timed(work.report, "mark", work.clock):
            files = assigned.run(
                partial(mark_slice, job),
                [(task.number, task) for task in tasks],
                "generate: mark",
            )
        marks = {task.number: written for task, written in zip(tasks, files, strict=True)}
    work.report.finished_ms = work.clock.now_ms()
    for name, _ in manifests:
        segments.segment(name).write_report(GENERATE, work.report)
    if marks is not None:
        # the snapshot commits the lists too: marked URLs without a list cannot be
        work.transaction.publish(
            slices.files_after(marks),
            work.report,
            buckets=base.buckets,
            keep=work.config[CRAWLDB_SNAPSHOTS_KEEP],
            notes=committed_note(manifests),
        )
    work.transaction.lock.verify()
    for name, manifest in manifests:
        segments.segment(name).publish(GENERATE, manifest)
    return [name for name, _ in manifests]
