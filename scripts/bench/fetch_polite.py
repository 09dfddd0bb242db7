"""A polite fetch: how near it comes to the time that politeness itself takes, what the
server saw, and what the same queues in virtual time foretell."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from fetch_list import AGENT, Listed

from crawl.fetcher.drivers.virtual import VirtualClock, run_virtual
from crawl.fetcher.engine.engine import FetchEngine, ReadyRequest
from crawl.fetcher.values.hooks import EngineHooks
from crawl.fetcher.values.item import Purpose
from crawl.fetcher.values.output_port import NullOutput
from crawl.fetcher.values.politeness import Politeness, ServerPace
from crawl.fetcher.values.settings import FetchSettings
from crawl.interfaces.protocol import Response
from crawl.model.datum import CrawlDatum
from crawl.model.status import Status
from crawl.synthetic.web import LogEntry, before_robots, concurrency, disallowed, duplicates, gaps


@dataclass(frozen=True, slots=True)
class Seen:
    """What the server saw of one run."""

    makespan_s: float
    """From the begin of the first request to the end of the last answer."""
    smallest_gap_s: float
    most_at_once: int
    """Requests to one host."""
    against_rules: int
    """Disallowed, before robots.txt, or a second time."""
    latency_s: dict[str, float]
    """Of each host, the mean from the begin of a request to its end."""


def seen(log: list[LogEntry], listed: Listed) -> Seen:
    """The server's own account."""
    web = listed.server.web
    pauses = gaps(log)
    wrong = len(disallowed(log, web, AGENT)) + len(before_robots(log)) + len(duplicates(log))
    return Seen(
        makespan_s=max(entry.ended for entry in log) - min(entry.began for entry in log),
        smallest_gap_s=pauses[0].seconds,
        most_at_once=max(concurrency(log).values()),
        against_rules=wrong,
        latency_s=_latencies(log),
    )


def _latencies(log: list[LogEntry]) -> dict[str, float]:
    spent: dict[str, list[float]] = {}
    for entry in log:
        spent.setdefault(entry.host, []).append(entry.ended - entry.began)
    return {host: sum(each) / len(each) for host, each in spent.items()}


def ideal_s(listed: Listed, delay_s: float) -> float:
    """The longest host's chain: robots.txt and its pages, each after its latency, with the
    delay between them; nobody who keeps the delay can be faster."""
    web = listed.server.web
    chains: Counter[str] = Counter()
    for url in listed.urls:
        chains[urlsplit(url).hostname or ""] += 1
    longest = 0.0
    for host, pages in chains.items():
        latency = web.expected(f"http://{host}:{listed.server.port}/robots.txt").latency
        longest = max(longest, (pages + 1) * latency + pages * delay_s)
    return longest


def predicted_s(listed: Listed, delay_s: float, threads: int, latency_s: dict[str, float]) -> float:
    """The makespan that the fetcher's own queues come to in virtual time, when a request
    takes as long as those to its host took in the mean."""
    clock = VirtualClock()
    engine = FetchEngine(
        _records(listed.urls),
        FetchSettings(threads=threads),
        Politeness(ServerPace(delay_s)),
        EngineHooks(
            key_of=lambda host: host,
            clock=clock,
            rng=random.Random(0),
        ),
        NullOutput(),
    )

    def answer(work: ReadyRequest, now: float) -> tuple[Response, float]:
        code = 404 if work.item.purpose is Purpose.ROBOTS else 200
        return Response(work.request.url, code, sent=now + 1e-9), latency_s[work.item.host]

    return run_virtual(engine, answer, threads, clock, keep=False).seconds


def _records(urls: list[str]) -> Iterator[tuple[str, CrawlDatum]]:
    datum = CrawlDatum(Status.DB_UNFETCHED, 0, 2_592_000)
    return ((url, datum) for url in urls)
