"""What the HostDb takes from the crawl's caches `robots` and `servers`: the last word of a host,
what was known before where there is none, and nothing where they cannot be read."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from crawl.config import Config
from crawl.driver.phase_run import Published
from crawl.model.report import Report
from crawl.model.table import Table
from crawl.model.tables import ROBOTS, SERVERS
from crawl.robots.stored import StoredAnswer
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.layout import buckets_of
from crawl.storage.robots_store import answers_table
from crawl.storage.server_pauses import ServerPause, pauses_table
from crawl.tables.bucket_files import BucketTarget, write_bucket
from crawl.testing.clock import ManualClock
from tests.phases.hosts import hosts_of, update_hosts
from tests.phases.made import NOW, datum, make_crawldb

HOSTS = ("a.org", "b.org", "c.org")
LATER = NOW + 1000


@pytest.fixture
def directory(tmp_path: Path) -> CrawlDir:
    return make_crawldb(str(tmp_path / "c"), {f"http://{host}/": datum() for host in HOSTS})


def publish(directory: CrawlDir, table: Table, rows: pa.Table) -> None:
    """Makes these rows all that the cache has."""
    dataset = directory.dataset(table)
    rows = rows.sort_by(table.key[0])
    buckets = buckets_of(rows[table.bucket_by], 4)
    with directory.writing(dataset, "test", Config(), ManualClock(NOW)) as transaction:
        target = BucketTarget(table, transaction.folder, transaction.place)
        files = [
            file
            for number in range(4)
            for file in write_bucket(target, number, [rows.filter(pa.array(buckets == number))])
        ]
        transaction.publish(files, Report("test", NOW, ""), buckets=4, keep=1)


def robots(directory: CrawlDir, *answers: StoredAnswer) -> None:
    publish(directory, ROBOTS, answers_table(answers))


def servers(directory: CrawlDir, delays: Iterable[tuple[str, float]]) -> None:
    pauses = [ServerPause(name, NOW, 0, NOW, delay, "", NOW) for name, delay in delays]
    publish(directory, SERVERS, pauses_table(pauses).select(SERVERS.names))


def said(authority: str, body: str, at: int = NOW, code: int = 200) -> StoredAnswer:
    return StoredAnswer(authority, at, at + 10**9, code, f"{authority}/robots.txt", body.encode())


def update(directory: CrawlDir) -> Published:
    return update_hosts(directory, settings={"http.agent.name": "mybot"})


def columns(directory: CrawlDir, *names: str) -> dict[str, tuple[Any, ...]]:
    update(directory)
    rows = hosts_of(directory)
    return {host[0]: tuple(rows[host][name] for name in names) for host in HOSTS}


def test_of_two_robots_txt_of_a_host_the_last_asked_for_counts(directory: CrawlDir) -> None:
    robots(
        directory,
        said("http://a.org", "Sitemap: /1\n SITE-MAP : /2\n# Sitemap: /no\n", NOW),
        said("https://a.org", "Sitemap: /1\n", LATER, 203),
        said("http://b.org", "", code=404),
        said("http://elsewhere.org", "Sitemap: /x\n"),
    )
    found = columns(directory, "robots_code", "robots_asked_at", "robots_sitemaps")
    moments = [datetime.fromtimestamp(at / 1000, UTC) for at in (NOW, LATER)]
    assert found["a"] == (203, moments[1], 2)
    assert found["b"] == (404, moments[0], 0)
    assert found["c"] == (None, None, 0)
    assert "elsewhere.org" not in hosts_of(directory)
    # a cache forgets; the HostDb remembers until it is told otherwise
    robots(directory, said("http://b.org", "Sitemap: /1", LATER))
    again = columns(directory, "robots_code", "robots_asked_at", "robots_sitemaps")
    assert again == {**found, "b": (200, moments[1], 1)}


def test_the_pause_is_the_one_that_is_asked_of_this_crawler(directory: CrawlDir) -> None:
    everyone = "User-agent: *\nCrawl-delay: 7\n"
    robots(
        directory,
        said("http://a.org", f"{everyone}\nUser-agent: MyBot\ncrawl delay: 2.5\nDisallow: /x\n"),
        said("http://b.org", f"{everyone}\nUser-agent: other\nCrawl-delay: 90\n"),
        said("http://c.org", "User-agent: other\nCrawl-delay: 90\n"),
    )
    assert columns(directory, "crawl_delay_s") == {"a": (2.5,), "b": (7.0,), "c": (0.0,)}
    robots(
        directory,
        said("http://a.org", "User-agent: *\nDisallow:\n"),  # no longer
        said("http://b.org", "", code=503),  # which says nothing
    )
    assert columns(directory, "crawl_delay_s") == {"a": (0.0,), "b": (7.0,), "c": (0.0,)}


def test_the_pauses_of_servers_count_where_they_are_hosts(directory: CrawlDir) -> None:
    servers(directory, [("a.org", 3.0), ("b.org", 0.0), ("@10.0.0.1", 9.0), ("org", 9.0)])
    assert columns(directory, "crawl_delay_s") == {"a": (3.0,), "b": (0.0,), "c": (0.0,)}
    robots(directory, said("http://c.org", "User-agent: *\nCrawl-delay: 4\n"))
    servers(directory, [("a.org", 5.0), ("c.org", 1.0)])
    assert columns(directory, "crawl_delay_s") == {"a": (5.0,), "b": (0.0,), "c": (4.0,)}


@pytest.mark.parametrize("table", [ROBOTS, SERVERS], ids=lambda table: table.name)
def test_a_cache_that_cannot_be_read_tells_nothing_and_stops_nobody(
    directory: CrawlDir, table: Table, caplog: pytest.LogCaptureFixture
) -> None:
    robots(directory, said("http://a.org", "User-agent: *\nCrawl-delay: 4\n"))
    servers(directory, [("b.org", 3.0)])
    dataset = directory.dataset(table)
    (file,) = dataset.require_current().files
    dataset.folder.write(file.path, b"no Parquet")
    with caplog.at_level(logging.WARNING):
        done = update(directory)
    assert done.report.counters["cache_files_unread"] == 1
    assert "it is no whole Parquet file" in caplog.text and "is not known" in caplog.text
    found = {host: row["crawl_delay_s"] for host, row in hosts_of(directory).items()}
    assert found == {
        "a.org": 0.0 if table is ROBOTS else 4.0,
        "b.org": 0.0 if table is SERVERS else 3.0,
        "c.org": 0.0,
    }
    # nor does one whose pointer is damaged
    for name in (dataset.pointer.name, dataset.pointer.copy):
        dataset.folder.write(name, b"{")
    assert update(directory).report.counters["cache_files_unread"] == 0
