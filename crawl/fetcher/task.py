"""Fetches one part of a fetch list from its file to files: the work of one task.

What another attempt at the same part has committed is not fetched again.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from crawl.clock import Clock
from crawl.config import Config
from crawl.config.properties import FETCHER_THREADS_FETCH
from crawl.counters import Counters
from crawl.errors import StorageError
from crawl.fetcher.drivers.protocols import Protocols
from crawl.fetcher.drivers.threaded import BandwidthTarget, ThreadedDriver, ThroughputFloor
from crawl.fetcher.engine.engine import FetchEngine
from crawl.fetcher.gc_threshold import raised_gc_threshold
from crawl.fetcher.hand_over import (
    KnownRobots,
    KnownServers,
    learnt_answers,
    read_server_states,
    write_server_states,
)
from crawl.fetcher.output import part_end
from crawl.fetcher.output.followed import not_listed, unfetched_followed
from crawl.fetcher.output.inline_parser import InlineParser
from crawl.fetcher.output.segment_output import ChunkSize, SegmentOutput, pages_of
from crawl.fetcher.reporting.host_summary import HostSummaries, HostSummary
from crawl.fetcher.reporting.page_spans import page_span_observers
from crawl.fetcher.reporting.request_times import RequestTimes
from crawl.fetcher.reporting.task_monitor import (
    INTERRUPTED,
    PROGRESS,
    STOP,
    TaskMonitor,
    claim_part,
    pauses_of_previous_task,
)
from crawl.fetcher.task_hooks import hooks_for_task, listed_hosts
from crawl.fetcher.task_spec import FetchTaskSpec
from crawl.fetcher.values import settings
from crawl.fetcher.values.politeness import Politeness
from crawl.fetcher.values.settings import FetchSettings, following_of
from crawl.model.datum import SITEMAP_DEPTH_KEY, CrawlDatum
from crawl.model.records import to_records
from crawl.storage.chunks import SERVERS_LEFT, Chunk, ChunkLog, Piece
from crawl.storage.folder import Folder
from crawl.storage.parquet import each_group, open_table
from crawl.storage.segments import FETCH, GENERATE, PartFile
from crawl.urls.parse import authority_of, host_of

__all__ = ["INTERRUPTED", "PROGRESS", "STOP", "FetchTaskResult", "FetchTaskSpec", "fetch_part"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FetchTaskResult:
    """What became of a part."""

    part: int
    chunks: list[Chunk]
    counters: Counters
    finished: bool
    """False where it was interrupted and can be resumed."""
    latencies_ms: list[int]
    """A sample, for percentiles."""
    hosts: list[HostSummary] = field(default_factory=list)
    """Those with the most pages in this run."""
    cross_part: Piece | None = None
    """The file with the authorities whose pages wait until all parts are done
    (`CrossPartHosts`)."""
    servers: Piece | None = None
    """The file with the pauses and failures of its servers at the end."""
    troubles: Piece | None = None
    """The file with the hosts that failed."""
    is_resumed: bool = False
    """Whether another task was at work on it before, which may have left files."""


def fetch_part(spec: FetchTaskSpec, file: PartFile) -> FetchTaskResult:
    """Fetches what is not fetched yet, and commits it piece by piece."""
    clock, config = spec.clock, spec.config
    log = ChunkLog(spec.segment, file.part, spec.run)
    earlier_result = _result_if_finished(spec.segment, file.part, log)
    if earlier_result is not None:
        return earlier_result
    if spec.cross_part is not None:
        authorities = part_end.read_cross_part(spec.segment, spec.cross_part.files)
        spec = replace(spec, cross_part=replace(spec.cross_part, authorities=authorities))
    is_resumed = claim_part(log, spec.segment, file.part, config, clock)
    paused = pauses_of_previous_task(spec.segment, file.part, clock.now_ms())
    chunks = log.committed()
    fetched = _fetched_urls(spec.segment, chunks)
    plugin_faults = Counters()
    """Met in the thread that writes."""
    times, hosts = RequestTimes(), HostSummaries()
    protocols = Protocols(spec.protocols, config)
    output = SegmentOutput(
        spec.segment,
        file.part,
        log,
        ChunkSize.of(config),
        spec.buckets,
        observers=(times.observe, hosts.observe, *page_span_observers(clock)),
        before_parse=lambda url, datum: _kept_for_parse(spec, url, datum, plugin_faults),
        parser=None if spec.parsing is None else InlineParser(spec.parsing, following_of(config)),
        keep_content=config[settings.FETCHER_STORE_CONTENT],
    )
    if output.commit_leftovers(fetched, {name for chunk in chunks for name in chunk.notes}):
        chunks = log.committed()
    known_robots, known_servers = _handed_over(spec, file, chunks)
    engine = FetchEngine(
        _listed(spec, file, fetched),
        FetchSettings.of(config),
        Politeness.of(config),
        hooks_for_task(spec, file, fetched, protocols.resolver, known_robots, known_servers),
        output,
        deadline=_deadline(spec.deadline_ms, clock),
    )
    if spec.cross_part is not None:
        servers_folder = spec.segment.child(SERVERS_LEFT)
        states = read_server_states(servers_folder, spec.cross_part.servers, clock.now_ms())
        engine.queues.keep_pauses(states, clock.monotonic())
    engine.queues.keep_pauses(paused, clock.monotonic())
    lists = [each.path for each in spec.lists_of(file)]
    waiting = unfetched_followed(spec.segment, chunks, fetched)
    engine.follower.resume(not_listed(waiting, spec.segment.child(GENERATE), lists))
    followed = _followed_before(spec, file, fetched)
    if spec.is_interrupted:
        engine.stop(INTERRUPTED)
    with TaskMonitor(output, file, config, clock, len(fetched), times, followed) as monitor:
        driver = ThreadedDriver(
            engine,
            protocols.fetch,
            config[FETCHER_THREADS_FETCH],
            clock,
            floor=_floor(config),
            bandwidth=_bandwidth(config),
            hang_s=config[settings.FETCHER_HANG],
            monitor=monitor,
            transfers=protocols.transfers(),
        )
        try:
            with raised_gc_threshold():
                driver.run()
            engine.finish()
            output.close()
        finally:
            protocols.close()
    log.require_ours()  # or what it returned would be taken for what became of the part
    is_finished = not engine.counters[f"handed_back.{INTERRUPTED}"]
    counters = _total(chunks) + engine.counters + output.parse_counters + plugin_faults
    cross_part = part_end.write_cross_part(spec.segment, file.part, engine.cross_part_authorities)
    states = engine.queues.server_states(clock.monotonic())
    servers = write_server_states(spec.segment.child(SERVERS_LEFT), file.part, states, clock)
    troubles = part_end.write_host_troubles(
        spec.segment, file.part, output.host_troubles, is_resumed=is_resumed
    )
    if is_finished:
        output.finish()
        files = part_end.files_as_told(cross_part, troubles, servers)
        log.finish({"counters": dict(counters), **files})
    return FetchTaskResult(
        *(file.part, log.committed(), counters, is_finished, times.sample),
        *(hosts.largest(), cross_part, servers, troubles, is_resumed),
    )


def _result_if_finished(segment: Folder, part: int, log: ChunkLog) -> FetchTaskResult | None:
    """What became of a part that is finished; None where it is not."""
    finished = log.finished()
    if finished is None:
        return None
    try:
        cross_part = part_end.cross_part_told(segment, part, finished)
    except StorageError as error:
        _log.warning("%s; the part's hosts are looked at again", error)
        return None
    return FetchTaskResult(
        part,
        log.committed(),
        Counters(finished["counters"]),
        True,
        [],
        cross_part=cross_part,
        servers=part_end.piece_told(finished.get("servers")),
        troubles=part_end.troubles_told(segment, part, finished),
        is_resumed=True,
    )


def _handed_over(
    spec: FetchTaskSpec, file: PartFile, chunks: list[Chunk]
) -> tuple[KnownRobots, KnownServers]:
    """What other fetches, and tasks of this one for the same part, have learnt."""
    if spec.cross_part is None:
        hosts = listed_hosts(spec.segment, file)
    else:
        hosts = {host_of(f"{each}/") or "" for each in spec.cross_part.authorities}
    keep_s = FetchSettings.of(spec.config).robots_keep_s
    robots = KnownRobots(spec.handed_over.robots, hosts, keep_s, spec.clock)
    robots.add(learnt_answers(spec.segment, chunks))
    servers = KnownServers(spec.handed_over.servers, spec.clock, spec.handed_over.pauses)
    servers.load(hosts)  # their keys where a server is a host; others are read when met
    return robots, servers


def _kept_for_parse(
    spec: FetchTaskSpec, url: str, datum: CrawlDatum, faults: Counters
) -> dict[str, str]:
    """What of a page's record the parse wants to know."""
    metadata = spec.scoring.before_parse(url, datum, faults)
    depth = datum.metadata.get(SITEMAP_DEPTH_KEY)
    return metadata if depth is None else {**metadata, SITEMAP_DEPTH_KEY: depth}


def _total(chunks: list[Chunk]) -> Counters:
    total = Counters()
    for chunk in chunks:
        total.update(chunk.counters)
    # URLs without a record are met again by the task that resumes, and counted then
    for name in list(total):
        if name.startswith("handed_back.") or name == "no_host":
            del total[name]
    return total


def _fetched_urls(segment: Folder, chunks: list[Chunk]) -> set[str]:
    """The URLs that have a record already, beside targets left for a later round."""
    urls: set[str] = set()
    for piece in [chunk.pieces[FETCH] for chunk in chunks if FETCH in chunk.pieces]:
        with open_table(segment.child(FETCH), piece.path, size=piece.bytes) as source:
            for rows in each_group(source, ["url", "status"]):
                urls |= pages_of(rows)
    return urls


def _listed(
    spec: FetchTaskSpec, file: PartFile, fetched: set[str]
) -> Iterator[tuple[str, CrawlDatum]]:
    """The URLs of the task's lists that have no record yet, read as they are used."""
    cross_part = spec.cross_part
    for each in spec.lists_of(file):
        with open_table(spec.segment.child(GENERATE), each.path, size=each.bytes) as source:
            for rows in each_group(source):
                for url, datum in to_records(rows):
                    if url in fetched:
                        continue
                    if cross_part is None or authority_of(url) in cross_part.authorities:
                        yield url, datum


def _followed_before(spec: FetchTaskSpec, file: PartFile, fetched: set[str]) -> int:
    """How many URLs have a record of a task before this one and are not on the list."""
    if not fetched:
        return 0
    listed = 0
    for each in spec.lists_of(file):
        with open_table(spec.segment.child(GENERATE), each.path, size=each.bytes) as source:
            for rows in each_group(source, ["url"]):
                listed += sum(url in fetched for url in rows["url"].to_pylist())
    return len(fetched) - listed


def _deadline(deadline_ms: int | None, clock: Clock) -> float | None:
    if deadline_ms is None:
        return None
    return clock.monotonic() + (deadline_ms - clock.now_ms()) / 1000


def _floor(config: Config) -> ThroughputFloor | None:
    pages = config[settings.FETCHER_THROUGHPUT_THRESHOLD]
    if pages < 0:
        return None
    return ThroughputFloor(
        pages,
        config[settings.FETCHER_THROUGHPUT_RETRIES],
        config[settings.FETCHER_THROUGHPUT_CHECK_AFTER] * 60,
    )


def _bandwidth(config: Config) -> BandwidthTarget | None:
    target = config[settings.FETCHER_BANDWIDTH_TARGET]
    if target < 0:
        return None
    return BandwidthTarget(
        target, config[settings.FETCHER_BANDWIDTH_CHECK], config[settings.FETCHER_MAX_THREADS]
    )
