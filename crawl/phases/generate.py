"""generate: the due URLs with the highest scores become fetch lists of new segments.

The steps are described in crawl/buckets/generate; here they are put together: what every
step needs, the cuts that all shards settle together, the balance between parts, and the
publication of segments (and marks, on request) as one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial

from crawl.buckets.bucket_files import BucketTarget, largest_first
from crawl.buckets.generate.balance import balance_parts
from crawl.buckets.generate.cutoff import TAKE_ALL, bracket, settle_cuts
from crawl.buckets.generate.lists import (
    CollectJob,
    CollectTaskResult,
    DealTask,
    ListTask,
    MarkJob,
    SelectedBucket,
    collect_bucket,
    deal_bucket,
    mark_bucket,
    write_list,
)
from crawl.buckets.generate.scan import ScanJob, ScanTask, Selection, scan_bucket
from crawl.buckets.generate.selection import selection_of
from crawl.buckets.generate.shards import (
    RankJob,
    Shard,
    assign_shard,
    look_inside_shard,
    summarize_shard,
)
from crawl.buckets.generate.unfinished import list_files, split_list, unfinished_segments
from crawl.buckets.runner import Runner
from crawl.clock import Clock
from crawl.config import Config
from crawl.config.properties import (
    CRAWLDB_ROW_GROUP_SIZE,
    CRAWLDB_SNAPSHOTS_KEEP,
    FETCHER_SERVER_DELAY,
    FETCHER_THREADS_FETCH,
    GENERATE_EXPECTED_LATENCY,
    GENERATE_MAX_COUNT,
    GENERATE_MAX_NUM_SEGMENTS,
    GENERATE_UPDATE_CRAWLDB,
    PARTITION_URL_MODE,
)
from crawl.errors import NoSnapshot
from crawl.model.report import Report
from crawl.model.tables import CRAWLDB
from crawl.phases.observed import observed
from crawl.phases.timing import timed
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.folder import Folder
from crawl.storage.manifest import Snapshot
from crawl.storage.segments import GENERATE, PartManifest, committed_note
from crawl.storage.snapshot import Transaction
from crawl.storage.split import SplitFile, destinations_of
from crawl.urls.partition import PartitionMode, Resolver

_DAY_MS = 86_400_000
_SUMMARY_KEYS = 1_000_000
"""How many keys all shards together send to the driver to find a cut."""

Matching = Callable[[Snapshot, Folder], list[SplitFile]]
"""Evaluates `--expr` over a snapshot: the rows that it holds for, split by bucket."""


@dataclass(frozen=True, slots=True)
class GenerateOptions:
    """What the command line says; None stands for the configuration's word."""

    top_n: int | None = None
    num_fetchers: int = 1
    max_num_segments: int | None = None
    add_days: float = 0.0
    expr: str | None = None
    filter: bool | None = None
    normalize: bool | None = None
    force: bool = False


@dataclass(frozen=True, slots=True)
class GenerateResult:
    """The new segments, oldest name first; none where nothing was due."""

    segments: tuple[str, ...]
    report: Report
    took_over: str | None

    @property
    def next_host_ms(self) -> int | None:
        """When the first of the hosts that were left out may be asked again."""
        found: int | None = self.report.details.get("next_host_ms")
        return found

    @property
    def unfinished(self) -> list[str]:
        """Segments whose URLs were left out: the CrawlDb has not taken them in yet."""
        found: list[str] = self.report.details.get("unfinished_segments", [])
        return found


def check(config: Config, options: GenerateOptions) -> None:
    """Raises what is wrong with settings and options, before anything is started."""
    _selection(config, options, started=0)


@observed("generate")
def run(
    runner: Runner,
    crawl_dir: CrawlDir,
    config: Config,
    options: GenerateOptions,
    clock: Clock,
    *,
    resolver: Resolver,
    matching: Matching | None = None,
) -> GenerateResult:
    """Selects URLs and publishes segments with their fetch lists."""
    started = clock.now_ms()
    selection = _selection(config, options, started)
    report = Report("generate", started, config.digest(), asdict(options))
    crawl_dir.require_crawldb()
    with crawl_dir.writing_crawldb("generate", config, clock, force=options.force) as transaction:
        crawl_dir.segments.sweep_unfinished()
        job = _Job(runner, crawl_dir, config, options, clock, transaction, report, selection)
        segments = job.generate(resolver, matching)
        return GenerateResult(tuple(segments), report, transaction.lock.took_over)


def _segments_wanted(config: Config, options: GenerateOptions) -> int:
    wanted = options.max_num_segments
    return config[GENERATE_MAX_NUM_SEGMENTS] if wanted is None else wanted


def _selection(config: Config, options: GenerateOptions, started: int) -> Selection:
    return selection_of(
        config,
        started + round(options.add_days * _DAY_MS),
        filtering=options.filter,
        normalizing=options.normalize,
        segments=options.max_num_segments,
        top_n=options.top_n,
    )


@dataclass(slots=True)
class _Job:
    """One run of generate, step by step."""

    runner: Runner
    crawl_dir: CrawlDir
    config: Config
    options: GenerateOptions
    clock: Clock
    transaction: Transaction
    report: Report
    selection: Selection

    def generate(self, resolver: Resolver, matching: Matching | None) -> list[str]:
        base = self.transaction.base
        if base is None:  # gone since it was looked for
            raise NoSnapshot(f"{self.crawl_dir.address} has no CrawlDb")
        candidates = self._scan(base, matching)
        shards = self._cut(candidates)
        selected = self._assign(base, shards)
        if not selected:
            self.report.finished_ms = self.clock.now_ms()
            return []
        collected = self._collect(selected, resolver)
        manifests = self._list(collected)
        return self._publish(base, selected, manifests)

    def _scan(self, base: Snapshot, matching: Matching | None) -> list[SplitFile]:
        matches: dict[int, list[SplitFile]] | None = None
        if matching is not None:
            with timed(self.report, "expr", self.clock):
                matches = destinations_of(matching(base, self.transaction.scratch))
        listed = destinations_of(self._listed(base))
        tasks = [
            ScanTask(
                file,
                None if matches is None else matches.get(file.bucket, []),
                base.hosts_of(file.bucket),
                listed.get(file.bucket, []),
            )
            for file in largest_first(base.files)
        ]
        job = ScanJob(
            self.selection, self.transaction.folder, self.transaction.scratch, base.buckets
        )
        with timed(self.report, "scan", self.clock):
            scanned = self.runner.run(partial(scan_bucket, job), tasks, "generate: scan")
        for bucket in scanned:
            self.report.counters += bucket.counters
        waits = [bucket.next_host_ms for bucket in scanned if bucket.next_host_ms is not None]
        if waits:
            self.report.details["next_host_ms"] = min(waits)
        return [bucket.file for bucket in scanned if bucket.file is not None]

    def _listed(self, base: Snapshot) -> list[SplitFile]:
        """The URLs on lists of segments that the CrawlDb has not taken in yet, by bucket: they
        are another fetch's, in this shell or in another."""
        unfinished = unfinished_segments(
            self.crawl_dir.segments.generated(),
            base.applied,
            self.selection.now_ms,
            self.selection.reserved_ms,
        )
        files = list_files(unfinished)
        if not files:
            return []
        self.report.details["unfinished_segments"] = [segment.name for segment in unfinished]
        split = partial(split_list, self.transaction.scratch, base.buckets)
        with timed(self.report, "listed", self.clock):
            return self.runner.run(split, files, "generate: lists of unfinished segments")

    def _cut(self, candidates: list[SplitFile]) -> list[Shard]:
        """Every shard with its cuts, one for each segment that gets anything."""
        files_of = destinations_of(candidates)
        shards = [Shard(number, files, []) for number, files in files_of.items()]
        shards.sort(key=lambda shard: -sum(file.rows[shard.number] for file in shard.files))
        top_n = self.options.top_n
        total = sum(sum(file.rows.values()) for file in candidates)
        step = max(1, total // _SUMMARY_KEYS)
        with timed(self.report, "cut", self.clock):
            for _ in range(_segments_wanted(self.config, self.options) if shards else 0):
                summaries = self.runner.run(
                    partial(summarize_shard, self._ranking, step), shards, "generate: rank"
                )
                if not any(summary.count for summary in summaries):
                    break
                limits = None if top_n is None else bracket(summaries, step, top_n)
                if limits is None or top_n is None:
                    cuts = [TAKE_ALL] * len(shards)
                else:
                    found = self.runner.run(
                        partial(look_inside_shard, self._ranking, limits), shards, "generate: cut"
                    )
                    cuts = settle_cuts(found, top_n)
                shards = [
                    replace(shard, cuts=[*shard.cuts, cut])
                    for shard, cut in zip(shards, cuts, strict=True)
                ]
        return shards

    @property
    def _ranking(self) -> RankJob:
        return RankJob(self.transaction.scratch, self.config[GENERATE_MAX_COUNT])

    def _assign(self, base: Snapshot, shards: list[Shard]) -> list[SelectedBucket]:
        with timed(self.report, "assign", self.clock):
            assigned = self.runner.run(
                partial(assign_shard, self._ranking), shards, "generate: assign"
            )
        for shard in assigned:
            self.report.counters += shard.counters
        rows_of = destinations_of([shard.file for shard in assigned if shard.file is not None])
        return [
            SelectedBucket(file, rows_of[file.bucket])
            for file in largest_first(base.files)
            if file.bucket in rows_of
        ]

    def _collect(
        self, selected: list[SelectedBucket], resolver: Resolver
    ) -> list[CollectTaskResult]:
        job = CollectJob(
            crawldb=self.transaction.folder,
            scratch=self.transaction.scratch,
            now_ms=self.report.started_ms,
            mode=PartitionMode(self.config[PARTITION_URL_MODE]),
            resolver=resolver,
            delay_s=self.config[FETCHER_SERVER_DELAY],
        )
        with timed(self.report, "collect", self.clock):
            collected = self.runner.run(partial(collect_bucket, job), selected, "generate: collect")
        for bucket in collected:
            self.report.counters += bucket.counters
        return collected

    def _list(self, collected: list[CollectTaskResult]) -> list[tuple[str, PartManifest]]:
        """Deals the selected records to parts and writes the fetch lists."""
        count = 1 + max(int(bucket.chains.segment.max()) for bucket in collected)
        names = self.crawl_dir.segments.new_names(self.report.started_ms, count)
        parts = self.options.num_fetchers
        balance = balance_parts(
            [bucket.chains for bucket in collected],
            names,
            parts,
            threads=self.config[FETCHER_THREADS_FETCH],
            latency_s=self.config[GENERATE_EXPECTED_LATENCY],
        )
        self.report.counters["segments_generated"] = count
        self.report.details["segments"] = balance.predictions
        deal_tasks = [
            DealTask(bucket.path, bucket.chains.segment, bucket.chains.chain, part)
            for bucket, part in zip(collected, balance.part_of, strict=True)
        ]
        scratch = self.transaction.scratch
        with timed(self.report, "deal", self.clock):
            dealt = self.runner.run(partial(deal_bucket, scratch), deal_tasks, "generate: deal")
        files_of = destinations_of(dealt)
        tasks = [
            ListTask(
                self.crawl_dir.segments.segment(names[destination // parts]).part_folder(GENERATE),
                destination % parts,
                destination,
                files_of[destination],
            )
            for destination in sorted(files_of)
        ]
        with timed(self.report, "list", self.clock):
            written = self.runner.run(
                partial(write_list, scratch, self.config[CRAWLDB_ROW_GROUP_SIZE]),
                tasks,
                "generate: write fetch lists",
            )
        created = self.clock.now_ms()
        manifests = []
        for number, name in enumerate(names):
            files = [
                file
                for file, task in zip(written, tasks, strict=True)
                if task.destination // parts == number
            ]
            manifests.append((name, PartManifest(tuple(files), created)))
        return manifests

    def _publish(
        self,
        base: Snapshot,
        selected: list[SelectedBucket],
        manifests: list[tuple[str, PartManifest]],
    ) -> list[str]:
        segments = self.crawl_dir.segments
        marks = None
        if self.config[GENERATE_UPDATE_CRAWLDB]:
            target = BucketTarget(
                CRAWLDB,
                self.transaction.folder,
                self.transaction.place,
                self.config[CRAWLDB_ROW_GROUP_SIZE],
            )
            job = MarkJob(target, self.transaction.scratch, self.report.started_ms)
            with timed(self.report, "mark", self.clock):
                marks = self.runner.run(partial(mark_bucket, job), selected, "generate: mark")
        self.report.finished_ms = self.clock.now_ms()
        for name, _ in manifests:
            segments.segment(name).write_report(GENERATE, self.report)
        if marks is not None:
            # the snapshot commits the lists too: marked URLs without a list cannot be
            self.transaction.publish(
                base.replacing(marks, [file.bucket for file in marks]),
                self.report,
                buckets=base.buckets,
                keep=self.config[CRAWLDB_SNAPSHOTS_KEEP],
                notes=committed_note(manifests),
            )
        self.transaction.lock.verify()
        for name, manifest in manifests:
            segments.segment(name).publish(GENERATE, manifest)
        return [name for name, _ in manifests]
