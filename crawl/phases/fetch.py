"""fetch: a segment's fetch list becomes crawl_fetch and content.

One task a part, each a crew of threads over its servers' queues. Tasks commit what they
have piece by piece (crawl/storage/chunks.py), so that a task or a whole job that dies is
gone on with, not begun again; here all pieces become the segment's state by one manifest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from statistics import quantiles
from typing import Any

from crawl.buckets.runner import Runner
from crawl.clock import Clock
from crawl.config import Config
from crawl.config.properties import CRAWLDB_BUCKETS, LOCK_HEARTBEAT, LOCK_STALE_AFTER
from crawl.errors import ConfigError, NothingToDo, UsageError
from crawl.fetcher.drivers.protocols import Protocols, resolved_protocols
from crawl.fetcher.engine.robots_line import ELSEWHERE
from crawl.fetcher.part import STOP, PartFetched, PartFetching, fetch_part
from crawl.fetcher.part_surroundings import Strays, strays_part
from crawl.fetcher.reporting.host_summary import MOST_HOSTS
from crawl.fetcher.reporting.measures import measured
from crawl.fetcher.values.politeness import Politeness
from crawl.fetcher.values.settings import (
    FETCHER_FILTER_URLS,
    FETCHER_FOLLOW_DEPTH,
    FETCHER_NORMALIZE_URLS,
    FETCHER_PARSE,
    FETCHER_TIMELIMIT,
)
from crawl.hints import command
from crawl.interfaces.chains import FilterChain, NormalizerChain
from crawl.interfaces.scoring_chain import ScoringChain
from crawl.interfaces.urlnormalizer import Scope
from crawl.model import tables
from crawl.model.hosts import merged_troubles, troubles_table
from crawl.model.report import Report
from crawl.parsing.plan import Parsing
from crawl.phases.observed import observed
from crawl.phases.timing import timed
from crawl.storage.chunks import FOLLOWED
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.folder import attempt_name
from crawl.storage.lock import hold_lock
from crawl.storage.parquet import open_writer
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
)
from crawl.telemetry.context import update_context


@dataclass(frozen=True, slots=True)
class FetchOptions:
    """What the command line says."""

    segment: str | None = None
    force: bool = False


@dataclass(frozen=True, slots=True)
class Fetched:
    """The segment's new state."""

    segment: str
    report: Report
    complete: bool
    took_over: str | None


def check(config: Config) -> None:
    """Raises what is wrong with the settings, before anything is started."""
    Politeness.of(config)
    Protocols(resolved_protocols(config), config).close()
    NormalizerChain.from_config(config, Scope.FETCHER)
    FilterChain.from_config(config)
    ScoringChain.from_config(config)
    _list_normalizers(config)
    _parsing(config)


def choose(crawl_dir: CrawlDir, name: str | None) -> Segment:
    """The named segment, or the oldest whose fetch is not finished."""
    if name is not None:
        segment = crawl_dir.segments.segment(name.rstrip("/").rpartition("/")[2])
        segment.require(GENERATE)
        manifest = segment.manifest(FETCH)
        if manifest is not None and manifest.complete:
            raise UsageError(f"{segment.folder.address} is fetched already")
        return segment
    generated = crawl_dir.segments.generated()
    if not generated:
        where = crawl_dir.address
        raise UsageError(f"{where} has no segment: make one with `{command('generate', where)}`")
    for segment in generated:
        manifest = segment.manifest(FETCH)
        if manifest is None or not manifest.complete:
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
) -> Fetched:
    """Fetches the segment, or goes on with it, and publishes what is there.

    Whoever writes the file STOP into the segment has it end in good order; `interrupted`
    tells whether that was done before there was a fetch to end.
    """
    segment = choose(crawl_dir, options.segment)
    update_context(segment=segment.name)
    report = Report("fetch", clock.now_ms(), config.digest(), asdict(options))
    with hold_lock(
        segment.folder,
        "fetch",
        clock,
        stale_after_ms=config[LOCK_STALE_AFTER] * 60_000,
        heartbeat_s=config[LOCK_HEARTBEAT],
        force=options.force,
    ) as lock:
        segment.folder.delete(STOP)  # of a fetch before
        if interrupted():
            segment.folder.write(STOP, b"")
        limit = config[FETCHER_TIMELIMIT]
        lists = sorted(segment.require(GENERATE).files, key=lambda file: -file.rows)
        fetching = PartFetching(
            segment=segment.folder,
            config=config,
            protocols=resolved_protocols(config),
            normalizers=NormalizerChain.from_config(config, Scope.FETCHER),
            filters=FilterChain.from_config(config),
            scoring=ScoringChain.from_config(config),
            buckets=_buckets(crawl_dir, config),
            lists=tuple(lists),
            deadline_ms=None if limit < 0 else report.started_ms + round(limit * 60_000),
            parsing=_parsing(config),
            list_normalizers=_list_normalizers(config),
            list_filters=_list_filters(config),
            clock=clock,
        )
        with timed(report, "fetch", clock):
            fetched = _parts_fetched(runner, fetching, lists)
            fetched += _strays_fetched(runner, fetching, fetched)
        _tell(report, fetched, clock)
        lock.verify()
        complete = all(part.finished for part in fetched)
        segment.write_report(FETCH, report)
        manifests = {
            table: _manifest(fetched, table, clock, complete=complete)
            for table in (*PARSED, CONTENT, FETCH)
        }
        for table, manifest in manifests.items():
            segment.sweep(table, manifest)
        if complete:
            segment.folder.delete(FOLLOWED)  # nobody goes on with a part
        if fetching.parsing is not None and _is_parsed(fetched):
            segment.write_report(PARSE, report)
            segment.publish_parsed({table: manifests[table] for table in PARSED})
        _publish_hosts(segment, fetched, clock, complete=complete)
        for table in (CONTENT, FETCH):
            segment.publish(table, manifests[table])
        segment.folder.delete(STOP)
        return Fetched(segment.name, report, complete, lock.took_over)


def _parts_fetched(
    runner: Runner, fetching: PartFetching, parts: list[PartFile]
) -> list[PartFetched]:
    with measured(fetching.segment, parts, fetching.clock):
        return runner.run(partial(fetch_part, fetching), parts, "fetch")


def _strays_fetched(
    runner: Runner, fetching: PartFetching, fetched: list[PartFetched]
) -> list[PartFetched]:
    """Hosts whose robots.txt redirects to a server of another part have their turn when all
    parts are done, in one task that may ask everybody; a part of its own, so that it can be
    gone on with as the others can."""
    authorities = frozenset(authority for part in fetched for authority in part.strays)
    if not authorities or not all(part.finished for part in fetched):
        return []
    rows = 0
    for part in fetched:
        rows += part.counters.pop(f"handed_back.{ELSEWHERE}", 0)
    strays = Strays(authorities, tuple(left for part in fetched for left in part.left))
    file = PartFile(strays_part(fetching.lists), "", rows, 0)
    return _parts_fetched(runner, replace(fetching, strays=strays), [file])


def _buckets(crawl_dir: CrawlDir, config: Config) -> int:
    """Those of the CrawlDb; or of the one that there may be, where a segment is all there is."""
    crawldb = crawl_dir.crawldb.current()
    return config[CRAWLDB_BUCKETS] if crawldb is None else crawldb.buckets


def _parsing(config: Config) -> Parsing | None:
    if config[FETCHER_PARSE]:
        return Parsing.from_config(config)
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
    fetched: list[PartFetched], table: str, clock: Clock, *, complete: bool
) -> PartManifest:
    files = [
        PartFile(part.part, piece.path, piece.rows, piece.bytes)
        for part in sorted(fetched, key=lambda part: part.part)
        for chunk in part.chunks
        if (piece := chunk.pieces.get(table)) is not None
    ]
    return PartManifest(tuple(files), clock.now_ms(), complete)


def _publish_hosts(
    segment: Segment, fetched: list[PartFetched], clock: Clock, *, complete: bool
) -> None:
    """What the CrawlDb is to know of hosts that failed; there need not be any."""
    troubles = merged_troubles(trouble for part in fetched for trouble in part.troubles)
    if not troubles and segment.manifest(FETCH_HOSTS) is None:
        return
    folder, name = segment.part_folder(FETCH_HOSTS), attempt_name("part-00000")
    with open_writer(folder, name, tables.FETCH_HOSTS.schema) as writer:
        writer.write(troubles_table(troubles))
    file = PartFile(0, name, writer.rows, folder.size(name) or 0)
    manifest = PartManifest((file,), clock.now_ms(), complete)
    segment.publish(FETCH_HOSTS, manifest)
    segment.sweep(FETCH_HOSTS, manifest)


def _is_parsed(fetched: list[PartFetched]) -> bool:
    """Whether all content was parsed as it was fetched: a fetch that was begun without is
    left to the parse phase as a whole."""
    chunks = [chunk for part in fetched for chunk in part.chunks]
    return all(PARSE in chunk.pieces for chunk in chunks if CONTENT in chunk.pieces)


def _tell(report: Report, fetched: list[PartFetched], clock: Clock) -> None:
    for part in fetched:
        report.counters.update(part.counters)
    report.finished_ms = clock.now_ms()
    report.details["latency_ms"] = _percentiles(fetched)
    # generate gives a host to one part, so there is nothing to add up
    hosts = sorted((host for part in fetched for host in part.hosts), key=lambda each: -each.pages)
    report.details["hosts"] = [asdict(host) for host in hosts[:MOST_HOSTS]]
    report.details["parts"] = [
        {"part": part.part, "finished": part.finished, "records": part.counters["records"]}
        for part in fetched
    ]


def _percentiles(fetched: list[PartFetched]) -> dict[str, Any]:
    sample = [latency for part in fetched for latency in part.latencies_ms]
    if not sample:
        return {}
    cuts = quantiles(sample, n=100, method="inclusive") if len(sample) > 1 else sample * 99
    return {f"p{share}": round(cuts[share - 1]) for share in (50, 90, 99)}
