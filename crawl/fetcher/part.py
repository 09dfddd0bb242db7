"""Fetches one part of a fetch list from its file to files: the work of one task.

What another attempt at the same part has committed is not fetched again.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pyarrow.compute as pc

from crawl.clock import Clock, SystemClock
from crawl.config import Config
from crawl.config.properties import FETCHER_THREADS_FETCH
from crawl.counters import Counters
from crawl.fetcher.crew import Bandwidth, Crew, Floor
from crawl.fetcher.dns import HostResolver
from crawl.fetcher.engine import FetchEngine, Surroundings, Work
from crawl.fetcher.host_summary import Hosts, HostSummary
from crawl.fetcher.output import ChunkSize, Output
from crawl.fetcher.politeness import Politeness
from crawl.fetcher.protocols import Protocols
from crawl.fetcher.queues import Nothing
from crawl.fetcher.record import FetchRecord
from crawl.fetcher.settings import (
    FETCHER_BANDWIDTH_CHECK,
    FETCHER_BANDWIDTH_TARGET,
    FETCHER_HANG,
    FETCHER_MAX_THREADS,
    FETCHER_QUEUE_MODE,
    FETCHER_THROUGHPUT_CHECK_AFTER,
    FETCHER_THROUGHPUT_RETRIES,
    FETCHER_THROUGHPUT_THRESHOLD,
    HTTP_REDIRECT_MAX,
    FetchSettings,
)
from crawl.fetcher.watch import INTERRUPTED, PROGRESS, STOP, take_over, watching
from crawl.interfaces.chains import FilterChain, NormalizerChain
from crawl.interfaces.protocol import Failure, Response
from crawl.interfaces.registry import Resolved
from crawl.interfaces.scoring_chain import ScoringChain
from crawl.model.datum import CrawlDatum
from crawl.model.records import to_records
from crawl.model.status import Status
from crawl.storage.chunks import Chunk, ChunkLog
from crawl.storage.folder import Folder
from crawl.storage.parquet import each_group, open_table
from crawl.storage.segments import FETCH, GENERATE, PartFile
from crawl.urls.partition import Partitioner, PartitionMode

__all__ = ["INTERRUPTED", "PROGRESS", "STOP", "PartFetched", "PartFetching", "fetch_part"]


@dataclass(frozen=True)
class PartFetching:
    """What every task needs to know."""

    segment: Folder
    config: Config
    protocols: tuple[Resolved, ...]
    normalizers: NormalizerChain
    filters: FilterChain
    scoring: ScoringChain
    parts: int
    """Of the whole list: servers of other parts are not this one's to ask."""
    deadline_ms: int | None
    """When the job's time is up, by the wall clock: a task that is tried again has no more."""
    clock: Clock = field(default_factory=SystemClock)


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


def fetch_part(fetching: PartFetching, file: PartFile) -> PartFetched:
    """Fetches what is not fetched yet, and commits it piece by piece."""
    clock, config = fetching.clock, fetching.config
    log = ChunkLog(fetching.segment, file.part)
    finished = log.finished()
    if finished is not None:
        counters = Counters(finished["counters"])
        return PartFetched(file.part, log.committed(), counters, True, [])
    take_over(log, fetching.segment, file.part, config, clock)
    chunks = log.committed()
    done = _fetched_urls(fetching.segment, chunks)
    faults = Counters()
    """Of plugins, met in the thread that writes."""
    latencies = _Latencies()
    hosts = Hosts()
    protocols = Protocols(fetching.protocols, config)
    output = Output(
        *(fetching.segment, file.part, log, clock, ChunkSize.of(config)),
        counters=lambda: engine.counters,
        before_parse=lambda url, datum: fetching.scoring.before_parse(url, datum, faults),
    )

    def emit(record: FetchRecord) -> None:
        latencies.take(record)
        hosts.take(record)
        output.add(record)

    engine = _CommittingEngine(
        _listed(fetching.segment, file, done),
        FetchSettings.of(config),
        Politeness.of(config),
        _surroundings(fetching, emit, clock, file, done),
        deadline=_deadline(fetching.deadline_ms, clock),
    )
    engine.output = output
    with watching(fetching.segment, file, log, output, config, clock, len(done)) as watch:
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
            crew.run()
            output.close()
        finally:
            protocols.close()
    is_finished = not engine.counters[f"handed_back.{INTERRUPTED}"]
    counters = _total(chunks) + engine.counters + faults
    if is_finished:
        log.finish({"counters": dict(counters)})
    return PartFetched(
        file.part, log.committed(), counters, is_finished, latencies.sample, hosts.largest()
    )


class _CommittingEngine(FetchEngine):
    """Commits between two answers, not within one: a page that redirects must not be
    committed without the target that it leaves for a later round."""

    output: Output
    _crashed = False

    def stop(self, reason: str) -> None:
        self._crashed |= reason == "crashed"
        super().stop(reason)

    def next_work(self, now: float) -> Work | Nothing | None:
        if self._crashed:
            return None  # what the thread that died had taken is never given back
        work = super().next_work(now)
        self.output.tick()
        return work

    def handle(self, work: Work, answer: Response | Failure, now: float) -> None:
        super().handle(work, answer, now)
        self.output.tick()


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
    for chunk in chunks:
        with open_table(segment.child(FETCH), chunk.pieces[FETCH].path) as source:
            for rows in each_group(source, ["url", "status"]):
                linked = pc.equal(rows["status"], int(Status.LINKED))
                found.update(rows["url"].filter(pc.invert(linked)).to_pylist())
    return found


def _listed(segment: Folder, file: PartFile, done: set[str]) -> Iterator[tuple[str, CrawlDatum]]:
    with open_table(segment.child(GENERATE), file.path) as source:
        for rows in each_group(source):
            for url, datum in to_records(rows):
                if url not in done:
                    yield url, datum


def _surroundings(
    fetching: PartFetching,
    emit: Callable[[FetchRecord], None],
    clock: Clock,
    file: PartFile,
    done: set[str],
) -> Surroundings:
    config = fetching.config
    mode = PartitionMode(config[FETCHER_QUEUE_MODE])
    resolver = HostResolver(config)

    def address_of(host: str) -> str | None:
        found = resolver.locate(host).addresses
        return found[0] if found else None

    partitioner = Partitioner(mode, address_of)
    follows = config[HTTP_REDIRECT_MAX] > 0

    def accepted(url: str) -> tuple[str | None, str]:
        normal = fetching.normalizers.normalize(url)
        if normal is None:
            return None, "malformed"
        if follows and normal in done:
            return None, "already_fetched"  # by a task before this one
        rejected = fetching.filters.rejection(normal)
        return (normal, "") if rejected is None else (None, f"filtered.{rejected[0]}")

    spaced = Politeness.of(config).ip_delay_s > 0
    return Surroundings(
        key_of=lambda host: partitioner.key_of_host(host).key,
        emit=emit,
        clock=clock,
        chance=random.Random(file.part),
        accepted=accepted,
        owns=_owned(fetching, file, partitioner) if fetching.parts > 1 else lambda key: True,
        address_of=address_of if spaced else None,
    )


def _owned(
    fetching: PartFetching, file: PartFile, partitioner: Partitioner
) -> Callable[[str], bool]:
    """The servers of this part: generate gives each to one part."""
    hosts: set[str] = set()
    with open_table(fetching.segment.child(GENERATE), file.path, host_codes=True) as source:
        for rows in each_group(source, ["host"]):
            for chunk in rows["host"].chunks:
                hosts.update(chunk.dictionary.to_pylist())
    keys = {partitioner.key_of_host(host).key for host in hosts}
    return keys.__contains__


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


class _Latencies:
    """Response times of a fair sample of pages."""

    _MOST = 10_000

    def __init__(self) -> None:
        self.sample: list[int] = []
        self._met = 0
        self._chance = random.Random(0)

    def take(self, record: FetchRecord) -> None:
        told = record.datum.metadata.get("_rs_")
        if told is None:
            return
        self._met += 1
        if len(self.sample) < self._MOST:
            self.sample.append(int(told))
        elif (place := self._chance.randrange(self._met)) < self._MOST:
            self.sample[place] = int(told)
