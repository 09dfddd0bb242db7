"""What the parts of the engine ask of the engine itself."""

from __future__ import annotations

from typing import Protocol

from crawl.counters import Counters
from crawl.fetcher.engine.host_troubles import HostTroubles
from crawl.fetcher.frontier.queue import HostQueue
from crawl.fetcher.frontier.queues import HostQueues
from crawl.fetcher.frontier.seen_urls import SeenUrls
from crawl.fetcher.values.item import FetchItem
from crawl.fetcher.values.record import FetchRecord
from crawl.model.datum import CrawlDatum


class EngineCore(Protocol):
    """The engine as its parts see it: the handlers of answers, the follower, the end of a fetch."""

    queues: HostQueues
    counters: Counters
    seen: SeenUrls
    troubles: HostTroubles
    stopped: str

    def item_of(self, url: str, datum: CrawlDatum) -> FetchItem | None: ...

    def enqueue(self, item: FetchItem, *, first: bool = False) -> None: ...

    def close(self, queue: HostQueue, reason: str, now: float, said: str = "") -> None: ...

    def return_unfetched(self, items: list[FetchItem], reason: str) -> None: ...

    def emit(self, record: FetchRecord) -> None: ...
