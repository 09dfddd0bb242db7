"""A service in this process, and a site on loopback whose answers a test writes down."""

from __future__ import annotations

import struct
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.service.service import Service
from crawl.service.site_crawls.crawl_scope import ScopeWish
from crawl.service.site_crawls.values import CrawlLimits, CrawlState, CrawlWish, SiteCrawl
from crawl.service.values import Finished, Wish
from crawl.storage.crawl_dir import CrawlDir
from crawl.testing.servers.scripted_server import ScriptedServer, scripted_server

WAIT_S = 120.0
"""Longer than any busy machine needs for what a test waits for."""
HTML = "Content-Type: text/html; charset=utf-8"
_SENTENCE = "Some words of a page that is long enough to be one, about lighthouses and keepers. "


def html(name: str, *links: str, head: str = "", body: str = "") -> bytes:
    """A page with a main text and links."""
    anchors = "".join(f'<p><a href="{link}">{link}</a></p>' for link in links)
    return (
        f"<!doctype html><html><head><title>{name}</title>{head}</head><body><nav>Menu</nav>"
        f"<main><h1>{name}</h1><p>{_SENTENCE * 3}</p>{body}</main>{anchors}</body></html>"
    ).encode()


def png(width: int, height: int) -> bytes:
    """The beginning of an image that has this size."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunk = b"IHDR" + header
    return (
        b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + chunk + struct.pack(">I", zlib.crc32(chunk))
    )


def settings(folder: Path, **others: Any) -> Config:
    """A configuration under which names that end in .test are on loopback, and no other is."""
    return Config.of(
        {
            "http.agent.name": "tests",
            "http.filter.ipaddress.allow.private": True,
            "http.resolver.hosts.file": "hosts.txt",
            "fetcher.server.delay": 0.0,
            "fetcher.server.min.delay": 0.0,
            "crawldb.buckets": 2,
            "service.folder": str(folder / "service"),
            **{name.replace("__", "."): value for name, value in others.items()},
        },
        {"hosts.txt": "127.0.0.1 *.test\n"},
    )


@dataclass(frozen=True, slots=True)
class Site:
    """The site, and the service that crawls it."""

    service: Service
    server: ScriptedServer
    config: Config

    def url(self, path: str, host: str = "a.test") -> str:
        return self.server.url(path, host)

    def page(self, path: str, *links: str, head: str = "", body: str = "") -> None:
        self.server.page(path, html(path, *links, head=head, body=body), HTML)

    def asked(self) -> Counter[str]:
        """How often each path was asked for, but robots.txt."""
        targets = (request.target for request in self.server.requests)
        return Counter(target for target in targets if target != "/robots.txt")

    def crawl(self, *seeds: str, limits: CrawlLimits | None = None, **wish: Any) -> SiteCrawl:
        """A crawl until its end."""
        scope = wish.pop("scope", ScopeWish())
        wanted = CrawlWish(
            seeds=tuple(map(self.url, seeds or ("/",))),
            scope=scope,
            limits=limits or CrawlLimits(),
            **wish,
        )
        return self.ended(self.service.crawls.start(wanted).id)

    def ended(self, crawl_id: str) -> SiteCrawl:
        """A crawl, when it has ended."""
        after = 0
        while found := self.service.crawls.wait(crawl_id, after, WAIT_S):
            after = found[-1][0]
        crawl = self.service.crawls.crawl(crawl_id)
        assert crawl is not None and crawl.state is not CrawlState.RUNNING, crawl
        return crawl

    def pages(self, crawl: SiteCrawl) -> dict[str, Finished]:
        """What came of a crawl, by the path that was asked for."""
        entries = self.service.crawls.wait(crawl.id, 0, 0.0)
        return {each.wish.url.partition(f":{self.server.port}")[2]: each for _, each in entries}

    def fetch(self, url: str, **wish: Any) -> Finished:
        """A URL's page, waited for."""
        (submitted,) = self.service.intake.submit([Wish(url=url, **wish)])
        assert submitted.id, submitted
        return self.service.wait_for(submitted.id).result(WAIT_S)


@contextmanager
def crawled_site(folder: Path, **others: Any) -> Iterator[Site]:
    """Both, while the block runs."""
    config = settings(folder, **others)
    with scripted_server() as server:
        service = Service(CrawlDir(str(folder / "crawl")), config, SystemClock())
        service.start()
        try:
            yield Site(service, server, config)
        finally:
            service.stop()
