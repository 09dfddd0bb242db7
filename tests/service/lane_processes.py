"""Each lane as a process of its own, to be killed."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.phases.fetch import run as fetch
from crawl.phases.fetch.options import FetchOptions
from crawl.phases.fetch.run import FetchResult
from crawl.service.service import Service
from crawl.service.values import Wish
from crawl.storage.crawl_dir import CrawlDir
from crawl.tables.runner import InProcess


def fetch_segment(address: str, name: str, config: Config) -> FetchResult:
    """Fetches a segment without Spark."""
    options = FetchOptions(segment=name)
    return fetch.run(InProcess(2), CrawlDir(address), config, options, SystemClock())


def serve_urls(address: str, config: Config, urls: Sequence[str]) -> None:
    """Serves a crawl, and has URLs fetched, until the process is killed."""
    service = Service(CrawlDir(address), config, SystemClock())
    service.start()
    service.intake.submit([Wish(url=url) for url in urls])
    threading.Event().wait()
