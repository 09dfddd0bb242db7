"""Crawls of the synthetic web, for tests."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from typing import cast

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.fetcher.task import STOP
from crawl.model.arrow import strings
from crawl.model.datum import CrawlDatum
from crawl.model.records import to_records
from crawl.phases.generate import run as generate
from crawl.phases.generate.options import GenerateOptions
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.parquet import open_table
from crawl.storage.segments import CONTENT, FETCH, Segment
from crawl.synthetic.web import Web, WebServer
from crawl.tables.runner import InProcess
from tests.phases.made import datum, make_crawldb

AGENT = "testbot"
LONG_AGO = 1_700_000_000_000


def web_config(web: Web, **settings: object) -> Config:
    """Settings of a polite bot that finds the web's hosts on loopback."""
    hosts = "".join(f"{web.address(host)} {host}\n" for host in web.hosts())
    return Config.of(
        {
            "http.agent.name": AGENT,
            "http.filter.ipaddress.allow.private": True,
            "http.resolver.hosts.file": "hosts.txt",
            "fetcher.server.delay": 0.02,
            "fetcher.threads.fetch": 20,
            "urlfilter.order": ["length"],
            "http.robots.503.defer.visits.delay": 100,
            "http.robots.503.defer.visits.retries": 1,
            **{name.replace("__", "."): value for name, value in settings.items()},
        },
        {"hosts.txt": hosts},
    )


def listed(address: str, urls: Iterable[str], parts: int = 2) -> tuple[CrawlDir, str]:
    """A crawl with one segment whose fetch list is exactly these URLs."""
    records = {url: datum(fetch_time=LONG_AGO) for url in urls}
    directory = make_crawldb(address, records, buckets=4, group_rows=1000)
    done = generate.run(
        InProcess(),
        directory,
        Config.of({"urlfilter.order": []}),
        GenerateOptions(num_fetchers=parts),
        SystemClock(),
        resolver=lambda host: None,
    )
    (name,) = done.segments
    return directory, name


def stopped_after(pages: int, server: WebServer, segment: Segment) -> None:
    """Has the segment's fetch asked to end once the server has given out so many more pages."""

    def given() -> int:
        return sum(
            entry.status == 200 and "robots" not in entry.path for entry in server.requests()
        )

    def stop() -> None:
        while given() < enough:
            time.sleep(0.01)
        segment.folder.write(STOP, b"")

    enough = given() + pages
    threading.Thread(target=stop, daemon=True).start()


def fetched(directory: CrawlDir, name: str) -> list[tuple[str, CrawlDatum]]:
    """All rows of crawl_fetch."""
    segment = directory.segments.segment(name)
    rows: list[tuple[str, CrawlDatum]] = []
    for file in segment.require(FETCH).files:
        with open_table(segment.part_folder(FETCH), file.path) as source:
            rows += to_records(source.read())
    return rows


def contents(directory: CrawlDir, name: str) -> dict[str, bytes]:
    """The stored bodies by URL."""
    segment = directory.segments.segment(name)
    found: dict[str, bytes] = {}
    for file in segment.require(CONTENT).files:
        with open_table(segment.part_folder(CONTENT), file.path) as source:
            table = source.read()
        found.update(
            zip(
                strings(table["url"]),
                cast("list[bytes]", table["content"].to_pylist()),
                strict=True,
            )
        )
    return found
