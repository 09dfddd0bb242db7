"""The fetch that kill tests run in a child process, over a small synthetic web."""

from __future__ import annotations

from crawl.clock import Clock, SystemClock
from crawl.phases.fetch import run as fetch
from crawl.phases.fetch.options import FetchOptions
from crawl.phases.fetch.run import FetchResult
from crawl.storage.crawl_dir import CrawlDir
from crawl.synthetic.web import Settings, Web
from crawl.tables.runner import InProcess
from tests.phases.webs import web_config

CHUNK = 5


def fetch_in_chunks(address: str, settings: Settings, parse: bool = False) -> None:
    fetch_by(SystemClock(), address, settings, parse=parse)


def fetch_by(clock: Clock, address: str, settings: Settings, *, parse: bool = False) -> FetchResult:
    config = web_config(
        Web(settings),
        fetcher__server__delay=0.02,
        fetcher__checkpoint__records=CHUNK,
        fetcher__progress__interval=0.1,
        fetcher__parse=parse,
    )
    return fetch.run(InProcess(2), CrawlDir(address), config, FetchOptions(), clock)


def fetch_following(address: str, settings: Settings, links: int = 0) -> None:
    """In chunks, with every redirect followed; and so many links of every page."""
    follow_by(SystemClock(), address, settings, links)


def follow_by(clock: Clock, address: str, settings: Settings, links: int = 0) -> FetchResult:
    config = web_config(
        Web(settings),
        fetcher__server__delay=0.01,
        fetcher__checkpoint__records=CHUNK,
        fetcher__progress__interval=0.1,
        http__redirect__max=50,
        fetcher__parse=links > 0,
        fetcher__follow__outlinks__depth=50 if links else 0,
        fetcher__follow__outlinks__num__links=100 * links,
        db__max__outlinks__per__page=-1,
    )
    return fetch.run(InProcess(2), CrawlDir(address), config, FetchOptions(), clock)


def fetch_at_full_speed(address: str, settings: Settings) -> None:
    """With chunks of the usual size."""
    config = web_config(Web(settings), fetcher__server__delay=0.0)
    fetch.run(InProcess(2), CrawlDir(address), config, FetchOptions(), SystemClock())


class LaterClock(SystemClock):
    """An hour on: a task that died is long gone, and its servers have had their pause."""

    def now_ms(self) -> int:
        return super().now_ms() + 3_600_000
