"""A web in a dictionary, for tests of the engine in virtual time."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from crawl.fetcher.drivers.virtual import VirtualClock, VirtualRun, run_virtual
from crawl.fetcher.engine.engine import FetchEngine, ReadyRequest
from crawl.fetcher.values.hooks import EngineHooks
from crawl.fetcher.values.output_port import MemoryOutput
from crawl.fetcher.values.politeness import Politeness, ServerPace
from crawl.fetcher.values.record import FetchRecord
from crawl.fetcher.values.settings import FetchSettings
from crawl.interfaces.protocol import Failure, FailureKind, Response
from crawl.model.datum import CrawlDatum
from crawl.model.status import Status

DUE = CrawlDatum(Status.DB_UNFETCHED, 0, fetch_interval=100, score=1.0)
Answered = Response | Failure | tuple[int, dict[str, str]] | str
Page = Answered | Callable[[int], Answered]
"""What a URL answers, or a function of how often it was asked for."""


@dataclass
class SmallWeb:
    """URL → page: a text (200), (code, headers), or a whole answer. Anything else is 404."""

    pages: Mapping[str, Page]
    latency: Callable[[str], float] = lambda url: 0.1
    asked: dict[str, int] = field(default_factory=dict)

    def answer(self, work: ReadyRequest, now: float) -> tuple[Response | Failure, float]:
        url = work.request.url
        self.asked[url] = self.asked.get(url, 0) + 1
        page: Page = self.pages.get(url, (404, {}))
        if callable(page):
            page = page(self.asked[url])
        seconds = self.latency(url)
        sent = now + 1e-9
        if isinstance(page, Failure):
            return Failure(url, page.kind, page.message, sent=sent), seconds
        if isinstance(page, Response):
            return page, seconds
        code, headers = (200, {}) if isinstance(page, str) else page
        body = page.encode() if isinstance(page, str) else b""
        return Response(url, code, tuple(headers.items()), body, sent=sent), seconds


REFUSED = Failure("", FailureKind.CONNECT_REFUSED)
STALE = Failure("", FailureKind.STALE_CONNECTION)


class CallbackOutput(MemoryOutput):
    """Calls a function with every record instead of keeping it."""

    def __init__(self, on_record: Callable[[FetchRecord], None]) -> None:
        super().__init__()
        self._on_record = on_record

    def add(self, record: FetchRecord) -> None:
        self._on_record(record)


@dataclass
class Fetched:
    """What a run brought out."""

    run: VirtualRun
    engine: FetchEngine
    output: MemoryOutput

    @property
    def records(self) -> list[FetchRecord]:
        return self.output.records

    @property
    def statuses(self) -> dict[str, Status]:
        return {record.url: record.datum.status for record in self.records}

    def begun(self, url: str) -> list[float]:
        return [sent.begun for sent in self.run.sent if sent.url == url]


def fetch(
    web: SmallWeb,
    urls: Iterable[str],
    *,
    threads: int = 10,
    delay_s: float = 5.0,
    at_once: int = 1,
    deadline: float | None = None,
    politeness: dict[str, Any] | None = None,
    hooks: dict[str, Any] | None = None,
    output: MemoryOutput | None = None,
    prepare: Callable[[FetchEngine], None] = lambda engine: None,
    **settings: Any,
) -> Fetched:
    """Fetches the URLs from the web in virtual time."""
    clock = VirtualClock(1_800_000_000_000)
    output = MemoryOutput() if output is None else output
    engine = FetchEngine(
        iter([(url, DUE) for url in urls]),
        FetchSettings(threads=threads, **settings),
        Politeness(ServerPace(delay_s, at_once), **(politeness or {})),
        EngineHooks(
            **{
                "key_of": lambda host: host,
                "clock": clock,
                "rng": random.Random(1),
                **(hooks or {}),
            }
        ),
        output,
        deadline=deadline,
    )
    prepare(engine)
    run = run_virtual(engine, web.answer, threads, clock)
    engine.finish()
    return Fetched(run, engine, output)
