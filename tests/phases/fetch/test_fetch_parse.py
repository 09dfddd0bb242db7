"""fetch that parses what it fetches, and follows links, judged by the web's truth and log."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.errors import ConfigError, UsageError
from crawl.model.status import Status
from crawl.phases.fetch import run as fetch
from crawl.phases.fetch.options import FetchOptions
from crawl.phases.fetch.run import FetchResult
from crawl.phases.parse import run as parse
from crawl.phases.parse.options import ParseOptions
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.parquet import open_table
from crawl.storage.segments import CONTENT, PARSE, PARSE_DATA, PARSE_TEXT, PARSED
from crawl.synthetic.web import (
    Settings,
    Web,
    WebServer,
    before_robots,
    disallowed,
    duplicates,
    gaps,
    running,
)
from crawl.tables.runner import InProcess
from crawl.urls.parse import host_of
from tests.phases.webs import AGENT, contents, fetched, listed, stopped_after, web_config

pytestmark = pytest.mark.slow

DELAY = 0.02


@pytest.fixture(scope="module")
def server() -> Iterator[WebServer]:
    web = Web(Settings(sites=6, pages=80, port=0, size=3000, crawl_delay=0.05, retry_after=0))
    with running(web) as server:
        yield server


def run(directory: CrawlDir, name: str, config: Config) -> FetchResult:
    return fetch.run(InProcess(2), directory, config, FetchOptions(name), SystemClock())


def rows(directory: CrawlDir, name: str, part: str) -> list[dict[str, Any]]:
    """All rows of a part, in an order of their own; times of fetches left out."""
    segment = directory.segments.segment(name)
    tables = []
    for file in segment.require(part).files:
        with open_table(segment.part_folder(part), file.path) as source:
            tables.append(source.read())
    whole = pa.concat_tables(tables)
    found = whole.drop_columns([n for n in ("fetch_time",) if n in whole.column_names]).to_pylist()
    return sorted(found, key=repr)


def test_it_writes_what_a_parse_of_the_fetched_segment_writes(
    tmp_path: Path, server: WebServer
) -> None:
    urls = sorted(set(server.web.urls()))
    config = web_config(server.web, fetcher__parse=True)
    directory, name = listed(str(tmp_path / "c"), urls)
    done = run(directory, name, config)
    assert done.complete
    assert done.report.counters["parse.success"] > 0
    at_once = {part: rows(directory, name, part) for part in PARSED}
    assert len(at_once[PARSE_DATA]) == done.report.counters["fetch_success"]
    assert any(row["outlinks"] for row in at_once[PARSE_DATA])
    with pytest.raises(UsageError, match="parsed already"):
        parse.run(InProcess(), directory, config, ParseOptions(name), SystemClock())
    parse.run(InProcess(), directory, config, ParseOptions(name, reparse=True), SystemClock())
    assert {part: rows(directory, name, part) for part in PARSED} == at_once


def test_content_need_not_be_stored(tmp_path: Path, server: WebServer) -> None:
    urls = sorted(set(server.web.urls()))[:20]
    settings = {"fetcher__parse": True, "fetcher__store__content": False}
    directory, name = listed(str(tmp_path / "c"), urls)
    run(directory, name, web_config(server.web, **settings))
    assert contents(directory, name) == {}
    assert directory.segments.segment(name).require(CONTENT).files == ()
    assert rows(directory, name, PARSE_TEXT)


def test_a_fetch_that_was_begun_without_is_left_to_the_parse_phase(
    tmp_path: Path, server: WebServer
) -> None:
    urls = sorted(set(server.web.urls()))
    directory, name = listed(str(tmp_path / "c"), urls, parts=1)
    segment = directory.segments.segment(name)
    plain = web_config(server.web)
    stopped_after(5, server, segment)
    assert not run(directory, name, plain).complete
    assert contents(directory, name), "something was fetched before the parser was switched on"
    assert run(directory, name, plain.with_values({"fetcher.parse": True})).complete
    assert not segment.is_done(PARSE)
    parse.run(InProcess(), directory, plain, ParseOptions(name), SystemClock())
    assert len(rows(directory, name, PARSE_DATA)) == len(
        [url for url, d in fetched(directory, name) if d.status is Status.FETCH_SUCCESS]
    )


def test_links_are_followed_politely_and_once(tmp_path: Path, server: WebServer) -> None:
    web = server.web
    before = len(server.requests())
    directory, name = listed(str(tmp_path / "c"), web.seeds(), parts=2)
    settings = {
        "fetcher__parse": True,
        "fetcher__follow__outlinks__depth": 2,
        "fetcher__follow__outlinks__num__links": 3,
    }
    done = run(directory, name, web_config(web, **settings))
    log = server.requests()[before:]
    assert disallowed(log, web, AGENT) == []
    assert before_robots(log) == []
    assert duplicates(log) == {}
    assert gaps(log)[0].seconds >= DELAY
    seeds = set(web.seeds())
    pages = [url for url, d in fetched(directory, name) if d.status is not Status.LINKED]
    assert len(pages) == len(set(pages)), "one record a URL"
    followed = set(pages) - seeds
    assert followed
    assert len(followed) == done.report.counters["outlinks_followed"]
    assert {host_of(url) for url in followed} <= {host_of(url) for url in seeds}
    linked = {link["url"] for row in rows(directory, name, PARSE_DATA) for link in row["outlinks"]}
    assert followed <= linked


def test_following_needs_parsing(server: WebServer) -> None:
    config = web_config(server.web, fetcher__follow__outlinks__depth=1)
    with pytest.raises(ConfigError, match=r"needs fetcher\.parse"):
        fetch.check(config)


def test_a_chunk_without_a_page_to_parse_is_parsed_all_the_same(
    tmp_path: Path, server: WebServer
) -> None:
    codes = {url: server.web.expected(url).code for url in server.web.urls()}
    moved, good = ([url for url in codes if codes[url] == code] for code in (301, 200))
    directory, name = listed(str(tmp_path / "c"), [*moved[:2], *good[:2]], parts=1)
    at_once = web_config(server.web, fetcher__parse=True, fetcher__checkpoint__records=1)
    done = run(directory, name, at_once)
    assert done.report.counters["fetch_redir_perm"]
    assert directory.segments.segment(name).is_done(PARSE)
    assert len(rows(directory, name, PARSE_DATA)) == done.report.counters["fetch_success"] > 0
