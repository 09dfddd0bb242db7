"""Sites with sitemaps in a dictionary, behind a protocol plugin: no byte is sent."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from crawl.clock import SystemClock
from crawl.config import Config, text
from crawl.driver.crawldb_writer import CrawlDbUpdate
from crawl.interfaces.protocol import Request, Response
from crawl.phases.sitemap import run as sitemap
from crawl.phases.sitemap.options import SitemapOptions
from crawl.storage.crawl_dir import CrawlDir
from crawl.tables.runner import InProcess
from tests.phases.made import datum, make_crawldb

WEB = text("test.web", "", "Which web answers.")


@dataclass
class SitemapWeb:
    """URL → body, or where it redirects to; anything else is 404."""

    pages: dict[str, bytes | str]
    redirects: dict[str, str] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)


WEBS: dict[str, SitemapWeb] = {}


class DictionaryProtocol:
    schemes = ("http", "https")

    def __init__(self, config: Config) -> None:
        self._web = WEBS[config[WEB]]

    def fetch(self, request: Request) -> Response:
        web, url = self._web, request.url
        web.asked.append(url)
        if url in web.redirects:
            return Response(url, 301, (("Location", web.redirects[url]),), b"", sent=1.0)
        body = web.pages.get(url)
        if body is None:
            return Response(url, 404, (), b"", sent=1.0)
        kind = web.types.get(url, "text/xml")
        body = body.encode() if isinstance(body, str) else body
        return Response(url, 200, (("Content-Type", kind),), body, sent=1.0)

    def close(self) -> None:
        pass


def config_of(name: str, files: dict[str, str] | None = None, **settings: object) -> Config:
    """Settings of a crawler of the web of that name."""
    return Config.of(
        {
            "http.agent.name": "testbot",
            "plugin.protocol": ["tests.phases.sitemap_web:DictionaryProtocol"],
            "test.web": name,
            "fetcher.server.delay": 0,
            "fetcher.threads.fetch": 4,
            "urlfilter.order": ["length"],
            "http.robots.503.defer.visits.retries": 0,
            **{key.replace("__", "."): value for key, value in settings.items()},
        },
        files,
    )


def known(tmp_path: Path, *urls: str) -> CrawlDir:
    return make_crawldb(str(tmp_path / "c"), {url: datum() for url in urls})


def read(
    directory: CrawlDir, config: Config, *urls: str, hosts: bool = False, tasks: int = 3
) -> CrawlDbUpdate:
    """`crawl sitemap` in this process."""
    options = SitemapOptions(urls, hosts=hosts, num_fetchers=tasks)
    return sitemap.run(InProcess(), directory, config, options, SystemClock())


def urlset(*urls: str) -> str:
    return f"<urlset>{''.join(f'<url><loc>{url}</loc></url>' for url in urls)}</urlset>"


def index(*urls: str) -> str:
    items = "".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in urls)
    return f"<sitemapindex>{items}</sitemapindex>"


def robots(*sitemaps: str, rules: str = "") -> str:
    return f"User-agent: *\n{rules}\n" + "".join(f"Sitemap: {url}\n" for url in sitemaps)
