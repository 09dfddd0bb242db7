"""The batch lane as a process of its own, to be killed."""

from __future__ import annotations

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.phases.fetch import run as fetch
from crawl.phases.fetch.options import FetchOptions
from crawl.phases.fetch.run import FetchResult
from crawl.storage.crawl_dir import CrawlDir
from crawl.tables.runner import InProcess


def fetch_segment(address: str, name: str, config: Config) -> FetchResult:
    """Fetches a segment without Spark."""
    options = FetchOptions(segment=name)
    return fetch.run(InProcess(2), CrawlDir(address), config, options, SystemClock())
