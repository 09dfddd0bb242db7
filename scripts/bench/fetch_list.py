"""A running synthetic web and a real fetch list of all its pages, made as users make one:
injected and generated. Each run of the fetcher gets a copy, so that none goes on with
another's."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.model.records import to_records
from crawl.phases.generate import run as generate
from crawl.phases.generate.options import GenerateOptions
from crawl.phases.inject import run as inject
from crawl.phases.inject.options import InjectOptions
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.parquet import open_table
from crawl.storage.segments import GENERATE
from crawl.synthetic.web import Settings, Web, WebServer, running
from crawl.tables.runner import InProcess

AGENT = "benchbot"
HOSTS = "hosts.txt"


@dataclass(slots=True)
class Listed:
    """A web that is served, and its fetch list."""

    server: WebServer
    work: Path
    urls: list[str]
    """In the order of the list."""
    hosts: dict[str, str]
    _copies: int = field(default=0)

    @property
    def plan(self) -> Path:
        """What contestants that know nothing of segments read: the URLs and their hosts."""
        return self.work / "plan.json"

    def copy(self) -> Path:
        """A crawl whose one segment is not yet fetched."""
        self._copies += 1
        fresh = self.work / f"crawl-{self._copies}"
        shutil.copytree(self.work / "crawl", fresh)
        return fresh

    def settings(self, **others: Any) -> Path:
        """The configuration of a fetch of this web, as a file for another process."""
        told = {
            "http.agent.name": AGENT,
            "http.filter.ipaddress.allow.private": True,
            "http.resolver.hosts.file": HOSTS,
            **others,
        }
        lines = "".join(f"{address} {host}\n" for host, address in self.hosts.items())
        path = self.work / "settings.json"
        path.write_text(json.dumps({"values": told, "files": {HOSTS: lines}}))
        return path


def config_of(path: Path) -> Config:
    """What `settings` wrote."""
    told = json.loads(path.read_text())
    return Config.of(told["values"], told["files"])


@contextmanager
def listed(settings: Settings, work: Path, parts: int = 1) -> Iterator[Listed]:
    """Serves the web while the block runs; answers are computed beforehand."""
    work.mkdir(parents=True, exist_ok=True)
    with running(Web(settings)) as server:
        server.warm()
        web = server.web
        seeds = work / "seeds.txt"
        seeds.write_text("".join(f"{url}\n" for url in web.urls()))
        directory = CrawlDir(str(work / "crawl"))
        config = Config.of({"crawldb.buckets": 4})
        clock = SystemClock()
        inject.run(
            InProcess(),
            directory,
            config,
            InjectOptions((str(seeds),), filter=False, normalize=False),
            clock,
        )
        options = GenerateOptions(num_fetchers=parts, filter=False, normalize=False)
        done = generate.run(
            InProcess(), directory, config, options, clock, resolver=lambda host: None
        )
        urls = _urls(directory, done.segments[0])
        if len(urls) != settings.pages:
            raise SystemExit(f"bench: {len(urls)} of {settings.pages} pages are on the list")
        hosts = {host: web.address(host) for host in web.hosts()}
        prepared = Listed(server, work, urls, hosts)
        prepared.plan.write_text(
            json.dumps({"urls": urls, "hosts": hosts, "port": server.port, "agent": AGENT})
        )
        yield prepared


def _urls(directory: CrawlDir, name: str) -> list[str]:
    segment = directory.segments.segment(name)
    found: list[str] = []
    for file in segment.require(GENERATE).files:
        with open_table(segment.part_folder(GENERATE), file.path) as source:
            found += [url for url, _ in to_records(source.read())]
    return found
