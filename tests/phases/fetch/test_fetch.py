"""fetch over the synthetic web, judged by the server's own log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.errors import ConfigError, Locked, UsageError
from crawl.model.status import Status
from crawl.phases.fetch import run as fetch
from crawl.phases.fetch.options import FetchOptions
from crawl.phases.fetch.run import FetchResult
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.lock import hold_lock
from crawl.storage.segments import CONTENT, FETCH
from crawl.synthetic.web import (
    Settings,
    Web,
    WebServer,
    before_robots,
    by_ip,
    concurrency,
    disallowed,
    duplicates,
    gaps,
    running,
)
from crawl.tables.runner import InProcess
from tests.phases.webs import AGENT, contents, fetched, listed, stopped_after, web_config

pytestmark = pytest.mark.slow

DELAY = 0.02


@pytest.fixture
def server() -> Iterator[WebServer]:
    web = Web(Settings(sites=16, pages=300, port=0, size=3000, crawl_delay=0.05, retry_after=0))
    with running(web) as server:
        yield server


def run(directory: CrawlDir, name: str | None, config: Config) -> FetchResult:
    return fetch.run(InProcess(2), directory, config, FetchOptions(name), SystemClock())


def page_statuses(directory: CrawlDir, name: str) -> dict[str, Status]:
    rows = [(url, d.status) for url, d in fetched(directory, name) if d.status is not Status.LINKED]
    counts = Counter(url for url, _ in rows)
    assert max(counts.values()) == 1, "one record a URL"
    return dict(rows)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"fetcher__queue__mode": "byDomain"},
        {"fetcher__queue__mode": "byIP"},
        {"fetcher__server__ip__delay": 0.01},
        {"http__redirect__max": 4},
    ],
    ids=["byHost", "byDomain", "byIP", "ip-delay", "redirects-followed"],
)
def test_the_servers_log_shows_a_polite_and_complete_crawl(
    tmp_path: Path, server: WebServer, settings: dict[str, object]
) -> None:
    web = server.web
    urls = sorted(set(web.urls()))
    # a part knows nothing of the others: servers of one address must be in one part
    parts = 1 if settings.keys() & {"fetcher__queue__mode", "fetcher__server__ip__delay"} else 5
    directory, name = listed(str(tmp_path / "c"), urls, parts)
    done = run(directory, name, web_config(web, **settings))
    log = server.requests()

    assert disallowed(log, web, AGENT) == []
    assert before_robots(log) == []
    assert max(concurrency(log).values()) == 1
    assert gaps(log)[0].seconds >= DELAY
    if "fetcher__queue__mode" in settings and settings["fetcher__queue__mode"] == "byIP":
        assert gaps(log, by_ip)[0].seconds >= DELAY
    if "fetcher__server__ip__delay" in settings:
        assert gaps(log, by_ip)[0].seconds >= 0.01
    assert duplicates([entry for entry in log if "robots" not in entry.path]) == {}

    # also where a robots.txt is on a server of another part
    assert done.report.counters["handed_back.robots_elsewhere"] == 0
    if parts > 1:
        assert done.report.counters["robots_elsewhere"] > 0

    statuses = page_statuses(directory, name)
    asked = {f"http://{entry.host}:{server.port}{entry.path}" for entry in log}
    bodies = contents(directory, name)
    handed_back = sum(
        count for reason, count in done.report.counters.items() if "handed_back" in reason
    )
    assert len(set(urls) & statuses.keys()) + handed_back == len(urls)
    for url in urls:
        if url not in statuses:
            continue
        if not web.allowed(url, AGENT):
            assert statuses[url] is Status.FETCH_GONE
            assert url not in asked
            continue
        truth = web.expected(url)
        if truth.code == 200:
            assert statuses[url] is Status.FETCH_SUCCESS
            assert bodies[url] == truth.body
        elif truth.code in (301, 308):
            assert statuses[url] is Status.FETCH_REDIR_PERM
        elif truth.code in (404, 410, 403):
            assert statuses[url] is Status.FETCH_GONE


def test_an_interrupted_fetch_is_whole_and_gone_on_with(tmp_path: Path, server: WebServer) -> None:
    web = server.web
    urls = sorted(set(web.urls()))
    directory, name = listed(str(tmp_path / "c"), urls)
    segment = directory.segments.segment(name)
    config = web_config(web)
    stopped_after(5, server, segment)
    first = run(directory, name, config)
    assert not first.complete
    some = page_statuses(directory, name)
    assert 0 < len(some) < len(urls)
    assert segment.require(FETCH).complete is False

    second = run(directory, None, config)
    assert second.complete
    every = page_statuses(directory, name)
    assert some.items() <= every.items()
    log = [entry for entry in server.requests() if "robots" not in entry.path]
    assert duplicates(log) == {}
    assert not any("interrupted" in reason for reason in second.report.counters)
    with pytest.raises(UsageError, match="is fetched already"):
        run(directory, name, config)


def test_the_time_limit_ends_the_fetch_and_leaves_the_rest_due(
    tmp_path: Path, server: WebServer
) -> None:
    web = server.web
    urls = sorted(set(web.urls()))
    directory, name = listed(str(tmp_path / "c"), urls)
    done = run(directory, name, web_config(web, fetcher__timelimit__mins=0.01))
    assert done.complete
    assert done.report.counters["handed_back.time_limit"] > 0


def test_what_is_wrong_is_reported_before_anything_is_sent(
    tmp_path: Path, server: WebServer
) -> None:
    with pytest.raises(ConfigError, match=r"-D http\.agent\.name=mybot"):
        fetch.check(Config())
    directory, name = listed(str(tmp_path / "c"), ["http://a.org/"])
    config = web_config(server.web)
    folder = directory.segments.segment(name).folder
    with (
        hold_lock(folder, "fetch", SystemClock(), stale_after_ms=1e9, heartbeat_s=60),
        pytest.raises(Locked, match="is locked: fetch by"),
    ):
        run(directory, name, config)
    with (
        directory.fetching("sitemap", config, SystemClock()),
        pytest.raises(Locked, match="fetching is locked: sitemap by"),
    ):
        run(directory, name, config)
    with pytest.raises(UsageError, match="has no segment"):
        run(CrawlDir(str(tmp_path / "none")), None, config)


def test_robots_txt_is_kept_where_wanted_and_nobody_parses_it(
    tmp_path: Path, server: WebServer
) -> None:
    directory, name = listed(str(tmp_path / "c"), sorted(set(server.web.urls()))[:40])
    run(directory, name, web_config(server.web, fetcher__store__robotstxt=True))
    segment = directory.segments.segment(name)
    rows = [
        row
        for file in segment.require(CONTENT).files
        for row in pq.read_table(segment.part_folder(CONTENT).path(file.path)).to_pylist()
    ]
    kept = [row for row in rows if row["url"].endswith("/robots.txt")]
    answered = [entry for entry in server.requests() if entry.path == "/robots.txt"]
    assert kept
    assert len(kept) <= len(answered)
    assert {row["status"] for row in kept} == {0}
    assert any(b"User-agent" in row["content"] for row in kept if row["code"] == 200)
    assert not any(url.endswith("/robots.txt") for url, _ in fetched(directory, name))
    assert 0 not in {row["status"] for row in rows if row not in kept}


def test_the_list_is_normalized_and_filtered_where_wanted(
    tmp_path: Path, server: WebServer
) -> None:
    urls = sorted(set(server.web.urls()))[:20]
    host = urls[0].partition("//")[2].partition("/")[0]
    long = f"http://{host}/{'x' * 3000}"
    directory, name = listed(str(tmp_path / "c"), [f"{url}#part" for url in urls] + [long])
    wanted = {"fetcher__normalize__urls": True, "fetcher__filter__urls": True}
    done = run(directory, name, web_config(server.web, **wanted))
    assert done.report.counters["handed_back.filtered.length"] == 1
    assert set(page_statuses(directory, name)) <= set(urls)
    assert not any("#" in entry.path for entry in server.requests())
    assert done.report.counters["handed_back.already_fetched"] == 0
