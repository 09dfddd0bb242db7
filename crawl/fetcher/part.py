"""Fetches one part of a fetch list from its file to files: the work of one task.

What another attempt at the same part has committed is not fetched again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, field, replace
from threading import Event

from crawl.clock import Clock
from crawl.config import Config
from crawl.config.properties import FETCHER_THREADS_FETCH
from crawl.counters import Counters
from crawl.fetcher.collecting import rarely_collected
from crawl.fetcher.drivers.crew import Bandwidth, Crew, Floor
from crawl.fetcher.drivers.protocols import Protocols
from crawl.fetcher.engine.engine import FetchEngine, Work
from crawl.fetcher.frontier.queues import Left, Nothing
from crawl.fetcher.output.followed import not_listed, still_waiting
from crawl.fetcher.output.output import ChunkSize, Output, pages_of
from crawl.fetcher.output.parse_line import ParseLine
from crawl.fetcher.part_surroundings import PartFetching, surroundings
from crawl.fetcher.reporting.host_summary import Hosts, HostSummary
from crawl.fetcher.reporting.page_spans import with_page_spans
from crawl.fetcher.reporting.request_times import RequestTimes
from crawl.fetcher.reporting.watch import (
    INTERRUPTED,
    PROGRESS,
    STOP,
    paused_before,
    take_over,
    watching,
)
from crawl.fetcher.values.item import FetchItem, Followed
from crawl.fetcher.values.politeness import Politeness
from crawl.fetcher.values.record import FetchRecord, linked_record
from crawl.fetcher.values.settings import (
    FETCHER_BANDWIDTH_CHECK,
    FETCHER_BANDWIDTH_TARGET,
    FETCHER_HANG,
    FETCHER_MAX_THREADS,
    FETCHER_STORE_CONTENT,
    FETCHER_THROUGHPUT_CHECK_AFTER,
    FETCHER_THROUGHPUT_RETRIES,
    FETCHER_THROUGHPUT_THRESHOLD,
    FetchSettings,
    following_of,
)
from crawl.model.datum import SITEMAP_DEPTH_KEY, CrawlDatum
from crawl.model.hosts import HostTrouble
from crawl.model.records import to_records
from crawl.storage.chunks import Chunk, ChunkLog
from crawl.storage.folder import Folder
from crawl.storage.parquet import each_group, open_table
from crawl.storage.segments import FETCH, GENERATE, PartFile
from crawl.urls.parse import authority_of

_BREATH_S = 0.05
"""Until pages that are being parsed are looked for again."""

__all__ = ["INTERRUPTED", "PROGRESS", "STOP", "PartFetched", "PartFetching", "fetch_part"]


@dataclass(frozen=True, slots=True)
class PartFetched:
    """What became of a part."""

    part: int
    chunks: list[Chunk]
    counters: Counters
    finished: bool
    """False where it was interrupted and can be gone on with."""
    latencies_ms: list[int]
    """A sample, for percentiles."""
    hosts: list[HostSummary] = field(default_factory=list)
    """Those with the most pages in this run."""
    strays: list[str] = field(default_factory=list)
    """Authorities whose pages wait until all parts are done."""
    left: list[Left] = field(default_factory=list)
    """How its servers were left."""
    troubles: list[HostTrouble] = field(default_factory=list)
    """Hosts that failed it."""


def fetch_part(fetching: PartFetching, file: PartFile) -> PartFetched:
    """Fetches what is not fetched yet, and commits it piece by piece."""
    clock, config, parsing = fetching.clock, fetching.config, fetching.parsing
    log = ChunkLog(fetching.segment, file.part)
    finished = log.finished()
    if finished is not None:
        return PartFetched(
            file.part,
            log.committed(),
            Counters(finished["counters"]),
            True,
            [],
            strays=finished.get("strays", []),
            left=[Left(*each) for each in finished.get("left", [])],
            troubles=[HostTrouble(*each) for each in finished.get("troubles", [])],
        )
    take_over(log, fetching.segment, file.part, config, clock)
    paused = paused_before(fetching.segment, file.part, clock.now_ms())
    chunks = log.committed()
    done = _fetched_urls(fetching.segment, chunks)
    faults = Counters()
    """Of plugins, met in the thread that writes."""
    times = RequestTimes()
    hosts = Hosts()
    protocols = Protocols(fetching.protocols, config)
    output = Output(
        *(fetching.segment, file.part, log, ChunkSize.of(config), fetching.buckets),
        counters=lambda: engine.counters,
        before_parse=lambda url, datum: _kept_for_parse(fetching, url, datum, faults),
        line=None if parsing is None else ParseLine(parsing, following_of(config)),
        keep_content=config[FETCHER_STORE_CONTENT],
    )
    if output.take_over(done, {name for chunk in chunks for name in chunk.notes}):
        chunks = log.committed()

    def emit(record: FetchRecord) -> None:
        if record.response_ms is not None:
            times.take(record.response_ms)
        hosts.take(record)
        output.add(record)
        engine.targets.pop(record.url, None)

    def followed(item: FetchItem) -> None:
        engine.targets[item.url] = target = Followed.of(item)
        output.follow(target)

    engine = _CommittingEngine(
        _listed(fetching, file, done),
        FetchSettings.of(config),
        Politeness.of(config),
        surroundings(
            *(fetching, with_page_spans(emit, clock), followed, output, file, done),
            protocols.resolver,
        ),
        deadline=_deadline(fetching.deadline_ms, clock),
    )
    engine.output, engine.done, engine.targets = output, done, {}
    if fetching.strays is not None:
        # an address has no queue of its own whose pause could be told
        Event().wait(Politeness.of(config).ip_delay_s)
        engine.queues.go_on_from(fetching.strays.left, clock.monotonic())
    engine.queues.go_on_from(paused, clock.monotonic())
    lists = [each.path for each in _files(fetching, file)]
    waiting = still_waiting(fetching.segment, chunks, done)
    engine.follow_again(not_listed(waiting, fetching.segment.child(GENERATE), lists))
    with watching(
        *(fetching.segment, file, log, output, config, clock, len(done), times),
        followed=_followed_before(fetching, file, done),
    ) as watch:
        crew = Crew(
            engine,
            protocols.fetch,
            config[FETCHER_THREADS_FETCH],
            clock,
            floor=_floor(config),
            bandwidth=_bandwidth(config),
            hang_s=config[FETCHER_HANG],
            watch=watch,
            transfers=protocols.transfers(),
        )
        try:
            with rarely_collected():
                crew.run()
            engine.leave_targets()
            output.close()
        finally:
            protocols.close()
    is_finished = not engine.counters[f"handed_back.{INTERRUPTED}"]
    counters = _total(chunks) + engine.counters + output.parse_counters + faults
    left = engine.queues.left(clock.monotonic()) if engine.strays else []
    troubles = engine.troubles.found()
    if is_finished:
        output.finish()
        told = {
            "strays": engine.strays,
            "left": [astuple(each) for each in left],
            "troubles": [astuple(each) for each in troubles],
        }
        log.finish({"counters": dict(counters), **told})
    return PartFetched(
        file.part,
        log.committed(),
        counters,
        is_finished,
        times.sample,
        hosts.largest(),
        engine.strays,
        left,
        troubles,
    )


def _kept_for_parse(
    fetching: PartFetching, url: str, datum: CrawlDatum, faults: Counters
) -> dict[str, str]:
    """What of a page's record the parse wants to know."""
    kept = fetching.scoring.before_parse(url, datum, faults)
    depth = datum.metadata.get(SITEMAP_DEPTH_KEY)
    return kept if depth is None else {**kept, SITEMAP_DEPTH_KEY: depth}


class _CommittingEngine(FetchEngine):
    """Commits between two answers, not within one: a page that redirects must not be
    committed without the target that it leaves for a later round."""

    output: Output
    done: set[str]
    """Pages that have a record of a task before this one."""
    targets: dict[str, Followed]
    """Of redirects, taken on and without a record so far."""
    _crashed = False

    def stop(self, reason: str) -> None:
        self._crashed |= reason == "crashed"
        super().stop(reason)

    def next_work(self, now: float) -> Work | Nothing | None:
        if self._crashed:
            return None  # what the thread that died had taken is never given back
        if self.output.line is not None:
            self._follow_found()
            if self.output.is_behind and not self.stopped:
                return Nothing(now + _BREATH_S)
        work = super().next_work(now)
        if isinstance(work, Work):
            return work  # it will be settled
        self.output.tick(now)
        if work is None and not self.stopped and self.output.awaits_links():
            return Nothing(now + _BREATH_S)
        return work

    def _follow_found(self) -> None:
        for found in self.output.found():
            targets = [target for target in found.targets if target[0] not in self.done]
            fetched = len(found.targets) - len(targets)
            if fetched:
                self.counters["outlinks_not_followed.already_fetched"] += fetched
            self.follow(targets, found.depth)

    def settle(self, now: float) -> None:
        self.output.tick(now)

    def follow_again(self, waiting: Iterable[Followed]) -> None:
        """Takes up what a task before this one had taken on."""
        around = self._around
        for each in waiting:
            is_ours = each.came_by or around.owns(around.key_of(each.host))
            if not is_ours or not self._seen.is_new(each.url):
                continue  # a link that was not taken on, and counted then
            item = self.item_of(each.url, each.datum)
            if item is None:
                continue
            if each.came_by:
                self.targets[each.url] = each
            self.counters["followed_again"] += 1
            came_by, shown = each.came_by, each.representative
            self.line_up(replace(item, came_by=came_by, representative=shown, depth=each.depth))

    def leave_targets(self) -> None:
        """Leaves those for later that nobody gave back: their requests hang."""
        for target in list(self.targets.values()):
            shown = target.representative or target.url
            self.emit(linked_record(target.url, target.host, target, shown))


def _total(chunks: list[Chunk]) -> Counters:
    total = Counters()
    for chunk in chunks:
        total.update(chunk.counters)
    # URLs without a record are met again by whoever goes on, and counted then
    for name in list(total):
        if name.startswith("handed_back.") or name == "no_host":
            del total[name]
    return total


def _fetched_urls(segment: Folder, chunks: list[Chunk]) -> set[str]:
    """The URLs that have a record already, beside targets left for a later round."""
    found: set[str] = set()
    for path in [chunk.pieces[FETCH].path for chunk in chunks if FETCH in chunk.pieces]:
        with open_table(segment.child(FETCH), path) as source:
            for rows in each_group(source, ["url", "status"]):
                found |= pages_of(rows)
    return found


def _listed(
    fetching: PartFetching, file: PartFile, done: set[str]
) -> Iterator[tuple[str, CrawlDatum]]:
    strays = fetching.strays
    for each in _files(fetching, file):
        with open_table(fetching.segment.child(GENERATE), each.path) as source:
            for rows in each_group(source):
                for url, datum in to_records(rows):
                    if url in done:
                        continue
                    if strays is None or authority_of(url) in strays.authorities:
                        yield url, datum


def _files(fetching: PartFetching, file: PartFile) -> Sequence[PartFile]:
    """The fetch lists that the part is about."""
    return [file] if fetching.strays is None else fetching.lists


def _followed_before(fetching: PartFetching, file: PartFile, done: set[str]) -> int:
    """How many URLs have a record of a task before this one and are not on the list."""
    if not done:
        return 0
    listed = 0
    for each in _files(fetching, file):
        with open_table(fetching.segment.child(GENERATE), each.path) as source:
            for rows in each_group(source, ["url"]):
                listed += sum(url in done for url in rows["url"].to_pylist())
    return len(done) - listed


def _deadline(deadline_ms: int | None, clock: Clock) -> float | None:
    if deadline_ms is None:
        return None
    return clock.monotonic() + (deadline_ms - clock.now_ms()) / 1000


def _floor(config: Config) -> Floor | None:
    pages = config[FETCHER_THROUGHPUT_THRESHOLD]
    if pages < 0:
        return None
    return Floor(
        pages, config[FETCHER_THROUGHPUT_RETRIES], config[FETCHER_THROUGHPUT_CHECK_AFTER] * 60
    )


def _bandwidth(config: Config) -> Bandwidth | None:
    target = config[FETCHER_BANDWIDTH_TARGET]
    if target < 0:
        return None
    return Bandwidth(target, config[FETCHER_BANDWIDTH_CHECK], config[FETCHER_MAX_THREADS])
