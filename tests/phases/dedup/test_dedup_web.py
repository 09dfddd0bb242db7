"""On the synthetic web, crawled for real: duplicates are the web's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.model.status import Status
from crawl.phases.dedup import run as dedup
from crawl.phases.dedup.options import DedupOptions
from crawl.phases.fetch import run as fetch
from crawl.phases.fetch.options import FetchOptions
from crawl.phases.updatedb import run as updatedb
from crawl.phases.updatedb.options import UpdateDbOptions
from crawl.synthetic.web import PageKind, RobotsKind, Settings, Web, running
from crawl.tables.runner import InProcess
from tests.phases.made import records_of
from tests.phases.webs import listed, web_config

pytestmark = pytest.mark.slow(seconds=6)


def test_duplicates_equal_the_truth(tmp_path: Path) -> None:
    kinds = (PageKind.DUPLICATE, PageKind.DUPLICATE, PageKind.NEAR, PageKind.MOVED)
    robots = (RobotsKind.OPEN, RobotsKind.PRIVATE)
    web = Web(
        Settings(sites=3, pages=60, size=3000, odd=0.5, kinds=kinds, robots=robots, retry_after=0)
    )
    with running(web) as server:
        config = web_config(server.web, fetcher__parse=True, fetcher__server__delay=0)
        config = config.with_values({"db.signature.class": "md5"}, "test")
        urls = sorted(set(server.web.urls()))
        directory, name = listed(str(tmp_path / "c"), urls)
        fetch.run(InProcess(2), directory, config, FetchOptions(name), SystemClock())
        bodies = {url: server.web.expected(url).body for url in urls}
    updatedb.run(InProcess(), directory, config, UpdateDbOptions(), SystemClock())
    pages = {url for url, each in records_of(directory).items() if each.status is Status.DB_FETCHED}
    truth: dict[bytes, set[str]] = {}
    for url in pages:
        truth.setdefault(bodies[url], set()).add(url)
    done = dedup.run(InProcess(), directory, Config(), DedupOptions(groups=1000), SystemClock())
    found = [{group.survivor, *group.duplicates} for group in done.groups]
    wanted = [urls for urls in truth.values() if len(urls) > 1]
    assert sorted(map(sorted, found)) == sorted(map(sorted, wanted))
    assert len(wanted) > 5
    after = records_of(directory)
    fetched = {url for url in pages if after[url].status is Status.DB_FETCHED}
    assert len(fetched) == len(truth)
