"""generate: the due URLs with the highest scores become fetch lists of new segments.

The steps are described in crawl/phases/generate/tasks; here and in steps.py they are put together:
what every step needs, the cuts that all shards settle together, the balance between parts, and the
publication of segments (and marks, on request) as one.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial

from crawl.clock import MAX_LOOK_DAYS, Clock
from crawl.config import Config
from crawl.config.properties import PARTITION_URL_MODE
from crawl.counters import Counters
from crawl.driver.empty_results import generate_remarks
from crawl.driver.observed import observed
from crawl.driver.timing import timed
from crawl.errors import NoSnapshot, UsageError
from crawl.model.report import Report
from crawl.phases.generate import steps
from crawl.phases.generate.options import GenerateOptions
from crawl.phases.generate.tasks.chains import count_chains
from crawl.phases.generate.tasks.collect import CollectTaskResult, collect_slice
from crawl.phases.generate.tasks.scan import ScanTaskResult
from crawl.phases.generate.tasks.selection import (
    Selection,
    bounds_hosts,
    host_expressions,
    is_automatic,
    most_per_host,
    selection_of,
)
from crawl.phases.generate.tasks.shards import assign_shard
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.hostdb import require_hostdb
from crawl.storage.manifest import Snapshot
from crawl.tables.bucket_files import largest_first
from crawl.tables.exchange import Exchange, by_number, numbered
from crawl.tables.runner import Runner
from crawl.tables.slices import Slices
from crawl.urls.partition import PartitionMode, Resolver

_DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class GenerateResult:
    """The new segments, oldest name first; none where nothing was due."""

    segments: tuple[str, ...]
    report: Report
    took_over: str | None
    remarks: tuple[str, ...] = ()
    """Why nothing was selected."""

    @property
    def next_host_ms(self) -> int | None:
        """When the first of the hosts that were left out may be asked again."""
        moment_ms: int | None = self.report.details.get("next_host_ms")
        return moment_ms


def check(config: Config, options: GenerateOptions | None = None) -> None:
    """Raises what is wrong with settings and options, before anything is started."""
    _selection(config, options or GenerateOptions(), started=0)


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
    matching: steps.Matching | None = None,
    bounding: steps.Bounding | None = None,
    not_again: tuple[str, ...] = (),
) -> GenerateResult:
    """Selects URLs and publishes segments with their fetch lists. `not_again`: segments whose URLs
    are not selected once more, however due they are."""
    started = clock.now_ms()
    selection = _selection(config, options, started)
    hostdb = require_bounds(crawl_dir, config)
    report = Report(
        "generate", started, config.digest(), {**asdict(options), "not_again": not_again}
    )
    crawl_dir.require_crawldb()
    with crawl_dir.writing_crawldb(
        "generate", config, clock, steal_lock=options.steal_lock
    ) as transaction:
        crawl_dir.segments.sweep_unfinished()
        base = transaction.base
        if base is None:  # gone since it was looked for
            raise NoSnapshot(f"{crawl_dir.address} has no CrawlDb")
        is_by_address = config[PARTITION_URL_MODE] == PartitionMode.BY_IP
        work = steps.GenerateRun(
            runner,
            crawl_dir,
            config,
            options,
            clock,
            transaction,
            report,
            selection,
            base,
            # a host is resolved once: two answers might put it into two parts
            Slices.of(base, base.buckets, base.rows if is_by_address else 0),
            hostdb,
            not_again,
        )
        segments = _generate(work, resolver, matching, bounding)
        remarks: list[str] = []
        if not segments:
            remarks = generate_remarks(crawl_dir.address, config, report.counters)
        return GenerateResult(tuple(segments), report, transaction.lock.took_over, tuple(remarks))


def _selection(config: Config, options: GenerateOptions, started: int) -> Selection:
    if not abs(options.add_days) <= MAX_LOOK_DAYS:
        raise UsageError(
            f"--add-days: give a number of days, at most {MAX_LOOK_DAYS:,},"
            f" not {options.add_days:g}"
        )
    ahead_ms = round(options.add_days * _DAY_MS)
    return selection_of(
        config,
        started + ahead_ms,
        filtering=options.filter,
        normalizing=options.normalize,
        segments=options.max_num_segments,
        top_n=options.top_n,
        ahead_ms=ahead_ms,
    )


def _generate(
    work: steps.GenerateRun,
    resolver: Resolver,
    matching: steps.Matching | None,
    bounding: steps.Bounding | None,
) -> list[str]:
    candidates = steps.find_candidates(work, matching, bounding)
    shards = by_number(steps.settle_segment_cuts(work, candidates))
    assign = partial(assign_shard, most_per_host(work.config))
    assigned = candidates.send(assign, shards, len(work.slices), "generate: assign")
    collect, chains = steps.chain_jobs(work, resolver)
    tasks, step = by_number(largest_first(work.slices.stored())), "generate: collect"
    collected = assigned.send(partial(collect_slice, collect), tasks, chains.shards, step)
    with timed(work.report, "collect", work.clock):
        counted = collected.run(partial(count_chains, chains), numbered(chains.shards), step)
    _count(work, candidates, assigned, collected)
    if not work.report.counters["urls_generated"]:
        work.report.finished_ms = work.clock.now_ms()
        return []
    manifests = steps.write_lists(work, collected, chains, counted)
    return steps.publish_segments(work, assigned, manifests)


def _count(
    work: steps.GenerateRun,
    candidates: Exchange[ScanTaskResult],
    assigned: Exchange[Counters],
    collected: Exchange[CollectTaskResult],
) -> None:
    """Adds what the steps counted to the report."""
    scanned = candidates.results()
    waits = [bucket.next_host_ms for bucket in scanned if bucket.next_host_ms is not None]
    if waits:
        work.report.details["next_host_ms"] = min(waits)
    counted = [each.counters for each in scanned] + [each.counters for each in collected.results()]
    work.report.counters += sum([*counted, *assigned.results()], Counters())
