"""generate: the due URLs with the highest scores become fetch lists of new segments.

The steps are described in crawl/buckets/generate; here they are put together: what every
step needs, the cuts that all shards settle together, the balance between parts, and the
publication of segments (and marks, on request) as one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial

from crawl.buckets.bucket_files import crawldb_target, largest_first
from crawl.buckets.exchange import BlockSource, Exchange, Outbox
from crawl.buckets.generate.balance import balance_parts
from crawl.buckets.generate.chains import ChainShard, ChainsJob, count_chains, deal_shard
from crawl.buckets.generate.collect import CollectJob, CollectTaskResult, collect_slice
from crawl.buckets.generate.cutoff import (
    TAKE_ALL,
    KeySummary,
    bracket,
    settle_cuts,
    whole_summaries,
)
from crawl.buckets.generate.host_bounds import HostsFile, send_automatic
from crawl.buckets.generate.lists import ListTask, MarkJob, mark_slice, write_list
from crawl.buckets.generate.ranking import Cut
from crawl.buckets.generate.scan import ScanJob, ScanTask, ScanTaskResult, scan_alone, scan_slice
from crawl.buckets.generate.selection import (
    Selection,
    bounds_hosts,
    host_expressions,
    is_automatic,
    most_per_host,
    selection_of,
)
from crawl.buckets.generate.shards import (
    RankJob,
    Shard,
    assign_shard,
    look_inside_shard,
    summarize_shard,
)
from crawl.buckets.generate.unfinished import (
    ListFile,
    list_files,
    send_list,
    unfinished_segments,
)
from crawl.buckets.runner import Runner
from crawl.buckets.slices import Router, Slice, Slices
from crawl.clock import Clock
from crawl.config import Config
from crawl.config.properties import (
    CRAWLDB_ROW_GROUP_SIZE,
    CRAWLDB_SNAPSHOTS_KEEP,
    FETCHER_SERVER_DELAY,
    FETCHER_THREADS_FETCH,
    GENERATE_EXPECTED_LATENCY,
    GENERATE_MAX_COUNT_AUTO,
    GENERATE_MAX_NUM_SEGMENTS,
    GENERATE_UPDATE_CRAWLDB,
    PARTITION_URL_MODE,
)
from crawl.counters import Counters
from crawl.errors import NoSnapshot
from crawl.model.report import Report
from crawl.model.tables import HOSTDB
from crawl.phases.observed import observed
from crawl.phases.timing import timed
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.hostdb import require_hostdb
from crawl.storage.manifest import Snapshot
from crawl.storage.segments import GENERATE, PartManifest, committed_note
from crawl.storage.snapshot import Transaction
from crawl.urls.partition import PartitionMode, Resolver

_DAY_MS = 86_400_000
_SUMMARY_KEYS = 1_000_000
"""How many keys all shards together send to the driver to find a cut."""

_CHAINS_TOLD = 200_000
"""Chains of which the driver hears one by one; of the others it hears sums."""
_SLOTS_A_PART = 64
"""Sums of short chains that there are for each part to be filled with: an even number of URLs to
within a hundredth."""
_ROWS_A_CHAIN_SHARD = 250_000
"""Records that one task counts and deals."""

Matching = Callable[[Snapshot, Slices], BlockSource]
"""Evaluates `--expr` over a snapshot: brings the rows that it holds for to their slices."""

Bounding = Callable[[Snapshot, Router], BlockSource]
"""Evaluates expressions over a snapshot of the HostDb: brings what they give to the slices."""


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


def require_bounds(crawl_dir: CrawlDir, config: Config) -> Snapshot | None:
    """The HostDb, if the settings need it; raises NoSnapshot where there is none then."""
    if not bounds_hosts(config):
        return None
    try:
        return require_hostdb(crawl_dir)
    except NoSnapshot as error:
        needing = [*host_expressions(config)]
        if is_automatic(config):
            needing.insert(0, "generate.max.count=auto")
        raise NoSnapshot(f"{' and '.join(needing)}: {error}") from error


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
    bounding: Bounding | None = None,
) -> GenerateResult:
    """Selects URLs and publishes segments with their fetch lists."""
    started = clock.now_ms()
    selection = _selection(config, options, started)
    hostdb = require_bounds(crawl_dir, config)
    report = Report("generate", started, config.digest(), asdict(options))
    crawl_dir.require_crawldb()
    with crawl_dir.writing_crawldb("generate", config, clock, force=options.force) as transaction:
        crawl_dir.segments.sweep_unfinished()
        job = _Job(runner, crawl_dir, config, options, clock, transaction, report, selection)
        bounds = None if hostdb is None else _Bounds(hostdb, bounding)
        segments = job.generate(resolver, matching, bounds)
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


@dataclass(frozen=True, slots=True)
class _Bounds:
    """The HostDb, and what evaluates expressions over it."""

    hostdb: Snapshot
    bounding: Bounding | None


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

    def generate(
        self, resolver: Resolver, matching: Matching | None, bounds: _Bounds | None
    ) -> list[str]:
        base = self.transaction.base
        if base is None:  # gone since it was looked for
            raise NoSnapshot(f"{self.crawl_dir.address} has no CrawlDb")
        is_by_address = self.config[PARTITION_URL_MODE] == PartitionMode.BY_IP
        # a host is resolved once: two answers might put it into two parts
        slices = Slices.of(base, base.buckets, base.rows if is_by_address else 0)
        tasks = largest_first(slices.stored())
        candidates = self._scan(base, slices, tasks, matching, bounds)
        shards = self._cut(base, slices, candidates)
        assigned = candidates.send(
            partial(assign_shard, self._ranking),
            _by_number(shards),
            len(slices),
            "generate: assign",
        )
        collect, chains = self._chain_jobs(base, resolver)
        collected = assigned.send(
            partial(collect_slice, collect),
            [(task.number, task) for task in tasks],
            chains.shards,
            "generate: collect",
        )
        with timed(self.report, "collect", self.clock):
            counted = collected.run(
                partial(count_chains, chains),
                [(shard, shard) for shard in range(chains.shards)],
                "generate: collect",
            )
        self._count(candidates, assigned, collected)
        if not self.report.counters["urls_generated"]:
            self.report.finished_ms = self.clock.now_ms()
            return []
        manifests = self._list(collected, chains, counted)
        return self._publish(base, slices, assigned, manifests)

    def _scan(
        self,
        base: Snapshot,
        slices: Slices,
        stored: list[Slice],
        matching: Matching | None,
        bounds: _Bounds | None,
    ) -> Exchange[ScanTaskResult]:
        """The candidates, which are looked for as soon as somebody wants to have them."""
        hosts = {file.bucket: file for file in base.hosts}
        tasks = [(each.number, ScanTask(each, hosts.get(each.bucket))) for each in stored]
        router = slices.router
        job = ScanJob(
            self.selection, self.transaction.folder, router, has_expr=matching is not None
        )
        lists = self._unfinished_lists(base)
        if not lists and matching is None and bounds is None:
            scan = partial(scan_alone, job)
            alone = [task for _, task in tasks]
            return self.runner.exchange(scan, alone, len(slices), "generate: scan")
        sources = [] if matching is None else [matching(base, slices)]
        if bounds is not None and bounds.bounding is not None:
            sources.append(bounds.bounding(bounds.hostdb, router))
        known = self.runner.exchange(
            partial(_send_known, router),
            [*lists, *self._automatic(bounds)],
            len(slices),
            "generate: lists of unfinished segments",
            sources,
        )
        return known.send(partial(scan_slice, job), tasks, len(slices), "generate: scan")

    def _automatic(self, bounds: _Bounds | None) -> list[HostsFile]:
        """The files of the HostDb whose hosts have automatic bounds."""
        if bounds is None or not is_automatic(self.config):
            return []
        folder = self.crawl_dir.dataset(HOSTDB).folder
        most = self.config[GENERATE_MAX_COUNT_AUTO]
        self.report.details["hostdb_snapshot"] = bounds.hostdb.number
        return [HostsFile(folder, file.path, file.rows, most) for file in bounds.hostdb.files]

    def _unfinished_lists(self, base: Snapshot) -> list[ListFile]:
        """The lists of segments that the CrawlDb has not taken in yet: their URLs are another
        fetch's, in this shell or in another."""
        unfinished = unfinished_segments(
            self.crawl_dir.segments.generated(),
            base.applied,
            self.selection.now_ms,
            self.selection.reserved_ms,
        )
        if unfinished:
            self.report.details["unfinished_segments"] = [segment.name for segment in unfinished]
        return list_files(unfinished)

    def _cut(
        self, base: Snapshot, slices: Slices, candidates: Exchange[ScanTaskResult]
    ) -> list[Shard]:
        """Every shard with its cuts, one for each segment that gets anything."""
        top_n = self.options.top_n
        wanted = _segments_wanted(self.config, self.options)
        if top_n is None and wanted == 1:
            return [Shard(number, [TAKE_ALL]) for number in range(len(slices))]
        shards = [Shard(number, []) for number in range(len(slices))]
        step = max(1, base.rows // _SUMMARY_KEYS)
        with timed(self.report, "cut", self.clock):
            for _ in range(wanted):
                summaries = candidates.run(
                    partial(summarize_shard, self._ranking, step),
                    _by_number(shards),
                    "generate: rank",
                )
                if not any(summary.count for summary in summaries):
                    break
                cuts = self._cuts(candidates, shards, summaries, step)
                shards = [
                    replace(shard, cuts=[*shard.cuts, cut])
                    for shard, cut in zip(shards, cuts, strict=True)
                ]
        return shards

    def _cuts(
        self,
        candidates: Exchange[ScanTaskResult],
        shards: list[Shard],
        summaries: list[KeySummary],
        step: int,
    ) -> list[Cut]:
        """The cuts of the next segment, one for each shard."""
        top_n = self.options.top_n
        limits = None if top_n is None else bracket(summaries, step, top_n)
        if limits is None or top_n is None:
            return [TAKE_ALL] * len(shards)
        if step == 1:
            return settle_cuts(whole_summaries(summaries), top_n)
        look = partial(look_inside_shard, self._ranking, limits)
        return settle_cuts(candidates.run(look, _by_number(shards), "generate: cut"), top_n)

    @property
    def _ranking(self) -> RankJob:
        return RankJob(most_per_host(self.config))

    def _chain_jobs(self, base: Snapshot, resolver: Resolver) -> tuple[CollectJob, ChainsJob]:
        """What collects records, and what counts and deals their chains: in as few tasks as can
        hold the records, for most selections are small."""
        most = base.rows if self.selection.most is None else min(base.rows, self.selection.most)
        shards = min(base.buckets, -(-most // _ROWS_A_CHAIN_SHARD)) or 1
        collect = CollectJob(
            crawldb=self.transaction.folder,
            now_ms=self.report.started_ms,
            mode=PartitionMode(self.config[PARTITION_URL_MODE]),
            resolver=resolver,
            shards=shards,
        )
        chains = ChainsJob(
            shards=shards,
            slots=-(-_SLOTS_A_PART * self.options.num_fetchers // shards),
            most_chains=-(-_CHAINS_TOLD // shards),
            delay_s=self.config[FETCHER_SERVER_DELAY],
            latency_s=self.config[GENERATE_EXPECTED_LATENCY],
        )
        return collect, chains

    def _count(
        self,
        candidates: Exchange[ScanTaskResult],
        assigned: Exchange[Counters],
        collected: Exchange[CollectTaskResult],
    ) -> None:
        """Adds what the steps counted to the report."""
        scanned = candidates.results()
        for bucket in scanned:
            self.report.counters += bucket.counters
        waits = [bucket.next_host_ms for bucket in scanned if bucket.next_host_ms is not None]
        if waits:
            self.report.details["next_host_ms"] = min(waits)
        for counters in assigned.results():
            self.report.counters += counters
        for result in collected.results():
            self.report.counters += result.counters

    def _list(
        self, collected: Exchange[CollectTaskResult], job: ChainsJob, counted: list[ChainShard]
    ) -> list[tuple[str, PartManifest]]:
        """Deals the chains to parts and writes the fetch lists."""
        segments = [
            int(numbers.max())
            for shard in counted
            for numbers in (shard.segment, shard.slots.segment)
            if len(numbers)
        ]
        count = 1 + max(segments)
        names = self.crawl_dir.segments.new_names(self.report.started_ms, count)
        parts = self.options.num_fetchers
        balance = balance_parts(
            counted,
            {number: name for each in collected.results() for number, name in each.names.items()},
            names,
            parts,
            threads=self.config[FETCHER_THREADS_FETCH],
            latency_s=self.config[GENERATE_EXPECTED_LATENCY],
        )
        self.report.counters["segments_generated"] = count
        self.report.details["segments"] = balance.predictions
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
                self.crawl_dir.segments.segment(names[number]).part_folder(GENERATE),
                part,
                number * parts + part,
            )
            for number, part in used
        ]
        with timed(self.report, "list", self.clock):
            written = dealt.run(
                partial(write_list, self.config[CRAWLDB_ROW_GROUP_SIZE]),
                [(task.destination, task) for task in tasks],
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
        slices: Slices,
        assigned: Exchange[Counters],
        manifests: list[tuple[str, PartManifest]],
    ) -> list[str]:
        segments = self.crawl_dir.segments
        marks = None
        if self.config[GENERATE_UPDATE_CRAWLDB]:
            target = crawldb_target(self.transaction.folder, self.transaction.place, self.config)
            job = MarkJob(target, self.report.started_ms)
            rows = assigned.row_counts()
            tasks = largest_first(each for each in slices.all if rows[each.number])
            with timed(self.report, "mark", self.clock):
                files = assigned.run(
                    partial(mark_slice, job),
                    [(task.number, task) for task in tasks],
                    "generate: mark",
                )
            marks = {task.number: written for task, written in zip(tasks, files, strict=True)}
        self.report.finished_ms = self.clock.now_ms()
        for name, _ in manifests:
            segments.segment(name).write_report(GENERATE, self.report)
        if marks is not None:
            # the snapshot commits the lists too: marked URLs without a list cannot be
            self.transaction.publish(
                slices.files_after(marks),
                self.report,
                buckets=base.buckets,
                keep=self.config[CRAWLDB_SNAPSHOTS_KEEP],
                notes=committed_note(manifests),
            )
        self.transaction.lock.verify()
        for name, manifest in manifests:
            segments.segment(name).publish(GENERATE, manifest)
        return [name for name, _ in manifests]


def _send_known(router: Router, task: ListFile | HostsFile, outbox: Outbox) -> None:
    """Sends the URLs of a list, or the bounds of hosts, to the CrawlDb's slices."""
    if isinstance(task, HostsFile):
        send_automatic(router, task, outbox)
    else:
        send_list(router, task, outbox)


def _by_number(shards: list[Shard]) -> list[tuple[int, Shard]]:
    return [(shard.number, shard) for shard in shards]
