"""Plans a fetch: the engine itself, in virtual time, against a web of latencies alone.

It shows how long the queues, the pauses and the threads take for a list. How long a request takes
is drawn: for every host alike, or by what the caller knows of the host. Every host is taken to
answer, to allow everything in its robots.txt and to ask for no pause of its own; names are not
resolved, so that no two hosts share an address.
"""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from crawl.config import Config
from crawl.counters import Counters
from crawl.fetcher.drivers.virtual import VirtualClock, run_virtual
from crawl.fetcher.engine.engine import FetchEngine, ReadyRequest
from crawl.fetcher.values.hooks import EngineHooks, queue_keys
from crawl.fetcher.values.item import Purpose
from crawl.fetcher.values.output_port import NullOutput
from crawl.fetcher.values.politeness import Politeness
from crawl.fetcher.values.settings import FETCHER_TIMELIMIT, FetchSettings
from crawl.interfaces.protocol import Failure, Response
from crawl.model.datum import CrawlDatum
from crawl.model.status import Status
from crawl.storage.folder import Folder
from crawl.storage.parquet import each_group, open_table
from crawl.storage.segments import GENERATE, PartFile

ListedUrls = Iterator[tuple[str, CrawlDatum]]

_DUE = CrawlDatum(Status.DB_UNFETCHED, 0)
_PAGE = Response("", 200, sent=1.0)
_NO_ROBOTS = Response("", 404, sent=1.0)


class Latencies(Protocol):
    """How long requests take."""

    def source(self, seed: int) -> Callable[[str], float]:
        """Draws the seconds of a request to a host, one after the other."""
        ...


@dataclass(frozen=True, slots=True)
class Latency:
    """The same for all hosts: log-normal, as answers of servers roughly are."""

    mean_s: float = 0.5
    spread: float = 0.5
    """Standard deviation of the logarithm; 0: every request takes the mean."""

    def source(self, seed: int) -> Callable[[str], float]:
        if self.mean_s <= 0 or self.spread <= 0:
            return lambda host: self.mean_s
        draw = random.Random(seed).lognormvariate
        middle, spread = math.log(self.mean_s) - self.spread**2 / 2, self.spread
        return lambda host: draw(middle, spread)


@dataclass(slots=True)
class HostPlan:
    """One server's (one queue's) share of a part."""

    key: str
    requests: int = 0
    """Its robots.txt included."""
    asking_s: float = 0.0
    pausing_s: float = 0.0
    """Pauses that politeness puts between its requests."""
    ended_s: float = 0.0
    at_once: int = 1

    @property
    def chain_s(self) -> float:
        """The least time that it takes, however many threads there are."""
        if self.at_once > 1:
            return self.asking_s / self.at_once
        return self.asking_s + self.pausing_s

    @property
    def waiting_s(self) -> float:
        """What came on top of that: waiting for a thread, or to be read from the list."""
        return max(0.0, self.ended_s - self.chain_s)


@dataclass(frozen=True, slots=True)
class PartPlan:
    """What becomes of one part."""

    part: int
    hosts: int
    threads: int
    seconds: float
    ideal_s: float
    """No order of requests can be faster: the longest chain of one server, or all requests
    shared out evenly among the threads."""
    busy_s: float
    counters: Counters
    longest: tuple[HostPlan, ...]
    """The servers that end last."""

    @property
    def urls(self) -> int:
        return self.counters["records"] + self.handed_back

    @property
    def handed_back(self) -> int:
        return sum(n for name, n in self.counters.items() if name.startswith("handed_back."))

    @property
    def thread_use(self) -> float:
        """Share of the threads' time that they spend with requests."""
        return self.busy_s / (self.seconds * self.threads) if self.seconds else 0.0

    @property
    def urls_per_s(self) -> float:
        return self.counters["records"] / self.seconds if self.seconds else 0.0


def plan_part(
    part: int,
    urls: ListedUrls,
    config: Config,
    latency: Latencies,
    *,
    seed: int = 0,
    longest: int = 10,
) -> PartPlan:
    """Runs one part's list through the engine in virtual time."""
    clock = VirtualClock()
    settings = replace(FetchSettings.of(config), store_content=False)
    limit = config[FETCHER_TIMELIMIT]
    engine = FetchEngine(
        urls,
        settings,
        Politeness.of(config),
        EngineHooks(queue_keys(config, lambda host: None), clock, random.Random(seed)),
        NullOutput(),
        deadline=limit * 60 if limit >= 0 else None,
    )
    web = _Web(engine, latency.source(seed * 1_000_003 + part))
    run = run_virtual(engine, web.answer, settings.threads, clock, keep=False)
    hosts = web.hosts.values()
    chain = max((host.chain_s for host in hosts), default=0.0)
    ideal_s = max(chain, run.busy_s / settings.threads)
    last = tuple(heapq.nlargest(longest, hosts, key=lambda host: host.ended_s))
    return PartPlan(
        *(part, len(hosts), settings.threads, run.seconds),
        *(ideal_s, run.busy_s, engine.counters, last),
    )


def makespan(seconds: Sequence[float], at_once: int | None = None) -> float:
    """Until the last part ends, with so many at the same time (all, unless said)."""
    if at_once is None or at_once >= len(seconds):
        return max(seconds, default=0.0)
    ends = [0.0] * at_once
    for each in seconds:
        heapq.heapreplace(ends, ends[0] + each)
    return max(ends)


def listed_urls(segment: Folder, file: PartFile) -> ListedUrls:
    """A part of a generated fetch list, read as it is used."""
    with open_table(segment.child(GENERATE), file.path, size=file.bytes) as source:
        for rows in each_group(source, ["url", "metadata"]):
            urls = cast(list[str], rows["url"].to_pylist())
            for url, metadata in zip(urls, rows["metadata"].to_pylist(), strict=True):
                yield url, replace(_DUE, metadata=dict(metadata)) if metadata else _DUE


def sizes_of_hosts(hosts: int, urls: int, skew: float) -> NDArray[np.int64]:
    """URLs of every host, largest first: the n-th has a share of 1/n**skew; 0: all alike."""
    weights = np.arange(1, hosts + 1, dtype=np.float64) ** -skew
    shares = weights * (urls / weights.sum())
    sizes: NDArray[np.int64] = np.floor(shares).astype(np.int64)
    remainder = urls - int(sizes.sum())
    sizes[np.argsort(sizes - shares, kind="stable")[:remainder]] += 1
    return sizes


def made_urls(sizes: NDArray[np.int64], part: int, parts: int, seed: int) -> ListedUrls:
    """The part's share of a made-up list, its hosts mixed by chance as generate mixes them."""
    mine = np.arange(part, len(sizes), parts)
    order = np.repeat(mine.astype(np.int32), sizes[mine])
    np.random.default_rng((seed, part)).shuffle(order)
    for number, host in enumerate(_in_pieces(order)):
        yield f"http://host{host}.test/{number}", _DUE


def _in_pieces(order: NDArray[np.int32], rows: int = 10_000) -> Iterable[int]:
    for begin in range(0, len(order), rows):
        yield from order[begin : begin + rows].tolist()


class _Web:
    """Answers with nothing but latencies, and keeps account of every server."""

    def __init__(self, engine: FetchEngine, latency: Callable[[str], float]) -> None:
        self._engine = engine
        self._latency = latency
        self.hosts: dict[str, HostPlan] = {}

    def answer(self, work: ReadyRequest, now: float) -> tuple[Response | Failure, float]:
        key = work.item.key
        pace = self._engine.queues.queue(key).pace
        host = self.hosts.get(key)
        if host is None:
            host = self.hosts[key] = HostPlan(key, at_once=pace.at_once)
        else:
            host.pausing_s += pace.delay_s
        seconds = self._latency(work.item.host)
        host.requests += 1
        host.asking_s += seconds
        host.ended_s = max(host.ended_s, now + seconds)
        return (_PAGE if work.item.purpose is Purpose.PAGE else _NO_ROBOTS), seconds
