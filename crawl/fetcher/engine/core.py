"""What the parts of the engine ask of the engine itself."""

from __future__ import annotations

from typing import Protocol

from crawl.counters import Counters
from crawl.fetcher.engine.host_troubles import HostTroubles
from crawl.fetcher.frontier.queue import HostQueue
from crawl.fetcher.frontier.queues import HostQueues
from crawl.fetcher.frontier.seen_urls import SeenUrls
from crawl.fetcher.values.hooks import EngineHooks
from crawl.fetcher.values.item import FetchItem
from crawl.fetcher.values.output_port import OutputPort
from crawl.fetcher.values.politeness import Politeness
from crawl.fetcher.values.record import FetchRecord
from crawl.fetcher.values.settings import FetchSettings
from crawl.model.datum import CrawlDatum


class EngineCore(Protocol):
    """The engine as its parts see it: the handlers of answers, the follower, the end of a fetch."""

    settings: FetchSettings
    politeness: Politeness
    hooks: EngineHooks
    output: OutputPort
    deadline: float | None
    """The monotonic moment at which the fetch ends."""
    queues: HostQueues
    counters: Counters
    seen_urls: SeenUrls
    troubles: HostTroubles
    stopped: str

    def item_of(self, url: str, datum: CrawlDatum) -> FetchItem | None: ...

    def enqueue(self, item: FetchItem, *, first: bool = False) -> None: ...

    def close(self, queue: HostQueue, reason: str, now: float, reply: str = "") -> None: ...

    def return_unfetched(self, items: list[FetchItem], reason: str) -> None: ...

    def emit(self, record: FetchRecord) -> None: ...
