"""fetch: a segment's fetch list becomes crawl_fetch and content.

There is one task a part, with threads over the queues of its servers. Tasks commit what they
have piece by piece (crawl/storage/chunks.py), so that a task or a whole job that dies is
resumed, not begun again; here all pieces become the segment's state by one manifest.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from functools import partial
from statistics import quantiles
from typing import Any

from crawl.clock import Clock
from crawl.config import Config
from crawl.config.properties import CRAWLDB_BUCKETS, FETCHER_THREADS_FETCH
from crawl.driver.empty_results import fetch_remarks
from crawl.driver.observed import observed
from crawl.driver.timing import timed
from crawl.driver.yielding_services import LeavingLists, YieldingServices
from crawl.errors import ConfigError, NothingToDo, UsageError
from crawl.fetcher.drivers.protocols import Protocols, resolved_protocols
from crawl.fetcher.engine.robots_handler import ROBOTS_ON_OTHER_PART
from crawl.fetcher.reporting.fetch_metrics import fetch_metrics
from crawl.fetcher.reporting.host_summary import MAX_HOSTS
from crawl.fetcher.task import STOP, FetchTaskResult, fetch_part
from crawl.fetcher.task_spec import CrossPartHosts, FetchTaskSpec, cross_part_number
from crawl.fetcher.values.politeness import Politeness
from crawl.fetcher.values.settings import (
    FETCHER_FILTER_URLS,
    FETCHER_FOLLOW_DEPTH,
    FETCHER_NORMALIZE_URLS,
    FETCHER_PARSE,
    FETCHER_QUEUE_MODE,
    FETCHER_TIMELIMIT,
    HTTP_REDIRECT_MAX,
)
from crawl.hints import command
from crawl.interfaces.chains import FilterChain, NormalizerChain
from crawl.interfaces.scoring_chain import ScoringChain
from crawl.interfaces.urlnormalizer import Scope
from crawl.model.report import Report
from crawl.parsing.plan import ParsePlan
from crawl.phases.fetch.hand_over import handed_over, publish_handed_over
from crawl.phases.fetch.options import FetchOptions
from crawl.phases.fetch.tail import TailCutter, is_tail_cut, last_round_costs
from crawl.phases.fetch.tasks import HandOverTask
from crawl.storage.chunks import CHUNKS, CROSS_PART, FOLLOWED, ROBOTS_LEARNT, SERVERS_LEFT
from crawl.storage.crawl_dir import CrawlDir, lock_timing, locked
from crawl.storage.fetch_lanes import ASKS_ANY_HOST, KEEPS_TO_ITS_LIST, is_served, say_any_host
from crawl.storage.segments import (
    CONTENT,
    FETCH,
    FETCH_HOSTS,
    GENERATE,
    PARSE,
    PARSED,
    PartFile,
    PartManifest,
    Segment,
    segment_name,
)
from crawl.storage.server_pauses import last_pauses
from crawl.tables.hosts import SlowHosts
from crawl.tables.runner import Runner
from crawl.telemetry.context import update_context
from crawl.urls.partition import PartitionMode


@dataclass(frozen=True, slots=True)
class FetchResult:
    """The segment's new state."""

    segment: str
    report: Report
    complete: bool
    took_over: str | None
    remarks: tuple[str, ...] = ()
    """Why hardly a page was fetched."""


def check(config: Config) -> None:
    """Raises what is wrong with the settings, before anything is started."""
    Politeness.of(config)
    Protocols(resolved_protocols(config), config).close()
    NormalizerChain.from_config(config, Scope.FETCHER)
    FilterChain.from_config(config)
    ScoringChain.from_config(config)
    _list_normalizers(config)
    _parsing(config)


def with_threads(config: Config, threads: int | None) -> Config:
    """The settings of a fetch with so many threads, where somebody says how many."""
    if threads is None:
        return config
    return config.with_values({FETCHER_THREADS_FETCH.name: threads}, "--threads")


def choose(crawl_dir: CrawlDir, name: str | None) -> Segment:
    """The named segment, or the oldest whose fetch is not finished."""
    if name is not None:
        segment = crawl_dir.segments.segment(segment_name(name))
        segment.require(GENERATE)
        if segment.is_complete(FETCH):
            raise UsageError(f"{segment.folder.address} is fetched already")
        return segment
    generated = crawl_dir.segments.generated()
    if not generated:
        where = crawl_dir.address
        raise UsageError(f"{where} has no segment: make one with `{command('generate', where)}`")
    for segment in generated:
        if not segment.is_complete(FETCH):
            return segment
    raise NothingToDo(f"{crawl_dir.address}: every segment is fetched already")


@observed("fetch")
def run(
    runner: Runner,
    crawl_dir: CrawlDir,
    config: Config,
    options: FetchOptions,
    clock: Clock,
    interrupted: Callable[[], bool] = lambda: False,
) -> FetchResult:
    """Fetches the segment, or resumes its fetch, and publishes what is there.

    A file STOP in the segment has the fetch end in good order; `interrupted` returns whether
    somebody wanted that before there was a fetch to end.
    """
    segment = choose(crawl_dir, options.segment)
    config = with_threads(config, options.threads)
    update_context(segment=segment.name)
    report = Report("fetch", clock.now_ms(), config.digest(), asdict(options))
    lane = _lane_of(crawl_dir, segment, config, clock)
    keeps_to_lists = lane is KEEPS_TO_ITS_LIST
    with (
        locked(segment.folder, "fetch", config, clock, steal_lock=options.steal_lock) as lock,
        crawl_dir.fetching(lane, config, clock, steal_lock=options.steal_lock) as fetching,
    ):
        services = YieldingServices(crawl_dir, fetching, config, clock)
        left = services.wait(any_host=not keeps_to_lists, interrupted=interrupted)
        # what it would follow it does not now, even if the service has ended meanwhile
        is_bound = keeps_to_lists and (left.is_served or _follows(config))
        held = segment.held_by(lock)
        segment.folder.delete(STOP)  # of a fetch before
        is_interrupted = interrupted()
        if is_interrupted:
            segment.folder.write(STOP, b"")
        limit = config[FETCHER_TIMELIMIT]
        segment.manifest_file(GENERATE).heal()  # if generate was killed before its copy, or after
        lists = sorted(segment.require(GENERATE).files, key=lambda file: -file.rows)
        crawldb = crawl_dir.crawldb.current()  # None where a segment is all there is
        spec = FetchTaskSpec(
            segment=segment.folder,
            config=config,
            protocols=resolved_protocols(config),
            normalizers=NormalizerChain.from_config(config, Scope.FETCHER),
            filters=FilterChain.from_config(config),
            scoring=ScoringChain.from_config(config),
            buckets=crawldb.buckets if crawldb else config[CRAWLDB_BUCKETS],
            lists=tuple(lists),
            deadline_ms=None if limit < 0 else report.started_ms + round(limit * 60_000),
            parsing=_parsing(config),
            list_normalizers=_list_normalizers(config),
            list_filters=_list_filters(config),
            clock=clock,
            is_slow_host=SlowHosts(crawl_dir.crawldb.folder, crawldb) if crawldb else None,
            handed_over=handed_over(crawl_dir, left.pauses),
            keeps_to_lists=is_bound,
            may_leave_lists=LeavingLists(crawl_dir.folder.address, fetching.owner.token, clock)
            if keeps_to_lists and not is_bound
            else None,
            is_interrupted=is_interrupted,
        )
        tail = _tail_cutter(crawl_dir, segment, config, options, clock)
        with timed(report, "fetch", clock):
            fetched = _fetch_parts(runner, spec, lists, tail)
            if interrupted():
                segment.folder.write(STOP, b"")
            fetched += _fetch_cross_part_hosts(runner, spec, fetched, tail, services, interrupted)
        if tail is not None and tail.cut is not None:
            report.details["tail"] = tail.cut
        # before the segment counts as fetched: nobody comes back to it then
        with timed(report, "hand_over", clock):
            lock.verify()
            tasks = [_handed_over_by(segment, part) for part in fetched]
            is_handed_over = publish_handed_over(
                runner,
                crawl_dir,
                config,
                clock,
                tasks,
                report,
                spec.buckets,
                steal_lock=options.steal_lock,
            )
        _fill_report(report, fetched, clock)
        lock.verify()
        complete = all(part.finished for part in fetched)
        held.write_report(FETCH, report)
        manifests = {
            table: _manifest(fetched, table, clock, complete=complete)
            for table in (*PARSED, CONTENT, FETCH)
        }
        for table, manifest in manifests.items():
            held.sweep(table, manifest)
        if complete:
            segment.folder.delete(FOLLOWED)  # no part is resumed any more
            if any(part.cross_part is not None or part.is_resumed for part in fetched):
                segment.folder.delete(CROSS_PART)
        if complete and is_handed_over:
            segment.folder.delete(ROBOTS_LEARNT)
            segment.folder.delete(SERVERS_LEFT)
        if spec.parsing is not None and _is_parsed(fetched):
            held.write_report(PARSE, report)
            held.publish_parsed({table: manifests[table] for table in PARSED})
        _publish_hosts(held, fetched, clock, complete=complete)
        for table in (CONTENT, FETCH):
            held.publish(table, manifests[table])
        segment.folder.delete(STOP)
        took_over = lock.took_over or fetching.took_over
        remarks = fetch_remarks(crawl_dir.address, report.counters) if complete else ()
        return FetchResult(segment.name, report, complete, took_over, tuple(remarks))


def _tail_cutter(
    crawl_dir: CrawlDir, segment: Segment, config: Config, options: FetchOptions, clock: Clock
) -> TailCutter | None:
    if not is_tail_cut(config, more_rounds=options.more_rounds):
        return None
    costs = last_round_costs(crawl_dir, segment, config)
    return TailCutter(segment.folder, costs, config, clock)


def _fetch_parts(
    runner: Runner, spec: FetchTaskSpec, parts: list[PartFile], tail: TailCutter | None
) -> list[FetchTaskResult]:
    with (
        fetch_metrics(spec.segment, parts, spec.clock),
        nullcontext() if tail is None else tail.watching(parts),
    ):
        return runner.run(partial(fetch_part, spec), parts, "fetch")


def _fetch_cross_part_hosts(
    runner: Runner,
    spec: FetchTaskSpec,
    fetched: list[FetchTaskResult],
    tail: TailCutter | None,
    services: YieldingServices,
    interrupted: Callable[[], bool],
) -> list[FetchTaskResult]:
    """Fetches the hosts whose robots.txt redirects to a server of another part when all parts are
    done, in one task that may ask every server. It is a part of its own, so that it can be
    resumed as the others can."""
    files = tuple(part.cross_part for part in fetched if part.cross_part is not None)
    if not files or not all(part.finished for part in fetched):
        return []
    rows = 0
    for part in fetched:
        rows += part.counters.pop(f"handed_back.{ROBOTS_ON_OTHER_PART}", 0)
    servers = tuple(part.servers for part in fetched if part.servers is not None)
    file = PartFile(cross_part_number(spec.lists), "", rows, 0)
    hosts = CrossPartHosts(files, servers)
    # a robots.txt may be on any host
    say_any_host(services.crawl_dir, services.lock.owner.token)
    left = services.wait(any_host=True, interrupted=interrupted)
    pauses = tuple(last_pauses((*spec.handed_over.pauses, *left.pauses)))
    alone = replace(
        spec,
        cross_part=hosts,
        handed_over=replace(spec.handed_over, pauses=pauses),
        is_interrupted=interrupted(),
    )
    return _fetch_parts(runner, alone, [file], tail)


def _lane_of(crawl_dir: CrawlDir, segment: Segment, config: Config, clock: Clock) -> str:
    """Whether the fetch keeps to the hosts of its list, as the lock tells services. Beside one it
    does where it can: what it would follow to other hosts is left to the next round."""
    politeness = Politeness.of(config)
    if (
        politeness.ip_delay_s > 0
        or PartitionMode(config[FETCHER_QUEUE_MODE]) is PartitionMode.BY_IP
    ):
        return ASKS_ANY_HOST  # hosts of one address may be on anybody's list
    if _list_normalizers(config) is not None:
        return ASKS_ANY_HOST
    if not _follows(config):
        return KEEPS_TO_ITS_LIST
    stale_after_ms = lock_timing(config)["stale_after_ms"]
    if not is_served(crawl_dir, clock.now_ms(), stale_after_ms):
        return ASKS_ANY_HOST
    is_begun = segment.folder.exists(CHUNKS)  # maybe with targets elsewhere
    return ASKS_ANY_HOST if is_begun else KEEPS_TO_ITS_LIST


def _follows(config: Config) -> bool:
    return config[HTTP_REDIRECT_MAX] > 0 or config[FETCHER_FOLLOW_DEPTH] > 0


def _handed_over_by(segment: Segment, part: FetchTaskResult) -> HandOverTask:
    """What a part leaves to later fetches."""
    robots = tuple(chunk.robots for chunk in part.chunks if chunk.robots is not None)
    folder, servers_folder = map(segment.part_folder, (ROBOTS_LEARNT, SERVERS_LEFT))
    return HandOverTask(folder, robots, servers_folder, part.servers)


def _parsing(config: Config) -> ParsePlan | None:
    if config[FETCHER_PARSE]:
        return ParsePlan.from_config(config)
    if config[FETCHER_FOLLOW_DEPTH] > 0:
        raise ConfigError("fetcher.follow.outlinks.depth needs fetcher.parse=true")
    return None


def _list_normalizers(config: Config) -> NormalizerChain | None:
    if not config[FETCHER_NORMALIZE_URLS]:
        return None
    return NormalizerChain.from_config(config, Scope.DEFAULT)


def _list_filters(config: Config) -> FilterChain | None:
    return FilterChain.from_config(config) if config[FETCHER_FILTER_URLS] else None


def _manifest(
    fetched: list[FetchTaskResult], table: str, clock: Clock, *, complete: bool
) -> PartManifest:
    pieces = ((part.part, chunk.pieces.get(table)) for part in fetched for chunk in part.chunks)
    return PartManifest.of_pieces(pieces, clock.now_ms(), complete)


def _publish_hosts(
    segment: Segment, fetched: list[FetchTaskResult], clock: Clock, *, complete: bool
) -> None:
    """Names the files of hosts that failed, of which there need not be any, and deletes those of
    tasks that died."""
    pieces = ((part.part, part.troubles) for part in fetched)
    manifest = PartManifest.of_pieces(pieces, clock.now_ms(), complete)
    is_unknown = not manifest.files and segment.manifest(FETCH_HOSTS) is None
    if not is_unknown:
        segment.publish(FETCH_HOSTS, manifest)
    if not is_unknown or any(part.is_resumed for part in fetched):
        segment.sweep(FETCH_HOSTS, manifest)


def _is_parsed(fetched: list[FetchTaskResult]) -> bool:
    """Whether all content was parsed as it was fetched: a fetch that was begun without is
    left to the parse phase as a whole."""
    chunks = [chunk for part in fetched for chunk in part.chunks]
    return all(PARSE in chunk.pieces for chunk in chunks if CONTENT in chunk.pieces)


def _fill_report(report: Report, fetched: list[FetchTaskResult], clock: Clock) -> None:
    for part in fetched:
        report.counters.update(part.counters)
    report.finished_ms = clock.now_ms()
    report.details["latency_ms"] = _percentiles(fetched)
    # generate gives a host to one part, so there is nothing to add up
    hosts = sorted((host for part in fetched for host in part.hosts), key=lambda each: -each.pages)
    report.details["hosts"] = [asdict(host) for host in hosts[:MAX_HOSTS]]
    report.details["parts"] = [
        {"part": part.part, "finished": part.finished, "records": part.counters["records"]}
        for part in fetched
    ]


def _percentiles(fetched: list[FetchTaskResult]) -> dict[str, Any]:
    sample = [latency for part in fetched for latency in part.latencies_ms]
    if not sample:
        return {}
    cuts = quantiles(sample, n=100, method="inclusive") if len(sample) > 1 else sample * 99
    return {f"p{share}": round(cuts[share - 1]) for share in (50, 90, 99)}
