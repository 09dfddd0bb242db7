from __future__ import annotations

import shutil
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.errors import Locked, NoSnapshot, UsageError
from crawl.model.answer_keys import CODE_KEY, PROTOCOL_STATUS_KEY, RESPONSE_TIME_KEY
from crawl.model.datum import CrawlDatum
from crawl.model.derived_tables import HOSTDB
from crawl.model.sketches import ACCURACY
from crawl.model.status import Status
from crawl.phases.fetch import run as fetch
from crawl.phases.fetch.options import FetchOptions
from crawl.phases.parse import run as parse
from crawl.phases.parse.options import ParseOptions
from crawl.phases.rebucket import run as rebucket
from crawl.phases.rebucket.options import RebucketOptions
from crawl.phases.updatedb import run as updatedb
from crawl.phases.updatedb.options import UpdateDbOptions
from crawl.phases.updatehostdb import run as updatehostdb
from crawl.phases.updatehostdb.options import UpdateHostDbOptions
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.lock import hold_lock
from crawl.storage.segments import FETCH, PartManifest
from crawl.synthetic.web import LogEntry, Settings, Web, WebServer, running
from crawl.tables.runner import InProcess
from crawl.testing.clock import ManualClock
from tests.phases.hosts import hosts_of, update_hosts
from tests.phases.killed import run_killed
from tests.phases.made import NOW, datum, make_crawldb, make_segment
from tests.phases.updating import S1, S2, A, B, C, Crawl, fetched, link
from tests.phases.webs import contents, listed, web_config


def answer(ms: int, status: Status = Status.FETCH_SUCCESS, **changes: object) -> CrawlDatum:
    metadata = {CODE_KEY: "200", RESPONSE_TIME_KEY: str(ms), PROTOCOL_STATUS_KEY: "success(http)"}
    return fetched(status, metadata=metadata, **changes)


@dataclass(frozen=True)
class Clocks:
    """One moment by both clocks: servers log by the one that never runs backwards."""

    began: float
    began_ms: int

    def of(self, moment: datetime) -> float:
        return self.began + moment.timestamp() - self.began_ms / 1000


@pytest.fixture
def server() -> Iterator[WebServer]:
    web = Web(Settings(sites=8, pages=150, port=0, size=3000, crawl_delay=0.05, retry_after=0))
    with running(web) as server:
        yield server


@pytest.mark.slow
def test_the_hostdb_says_what_the_servers_log_says(tmp_path: Path, server: WebServer) -> None:
    web = server.web
    directory, name = listed(str(tmp_path / "c"), sorted(set(web.urls())), 1)
    config = web_config(web)
    clock = SystemClock()
    clocks = Clocks(clock.monotonic(), clock.now_ms())
    fetch.run(InProcess(2), directory, config, FetchOptions(name), clock)
    fetched_s = clock.monotonic()
    parse.run(InProcess(2), directory, config, ParseOptions(name), clock)
    updatedb.run(InProcess(), directory, config, UpdateDbOptions(), clock)
    done = updatehostdb.run(InProcess(), directory, config, UpdateHostDbOptions(), clock)
    assert done.segments == (name,)
    rows = hosts_of(directory)

    asked: defaultdict[str, Counter[int]] = defaultdict(Counter)
    entries: defaultdict[str, list[LogEntry]] = defaultdict(list)
    for entry in server.requests():
        entries[entry.host].append(entry)
        if "robots" not in entry.path:
            asked[entry.host][entry.status] += 1
    sizes: defaultdict[str, list[int]] = defaultdict(list)
    for url, body in contents(directory, name).items():
        if web.expected(url).code == 200:
            sizes[url.split("/")[2].split(":")[0]].append(len(body))
    for host, codes in asked.items():
        row = rows[host]
        assert row["requests"] == codes.total()
        assert row["succeeded"] == codes[200]
        assert row["redirected"] == sum(codes[code] for code in (301, 302, 303, 307, 308))
        assert row["refused"] == sum(codes[code] for code in (403, 404, 410))
        assert row["failed"] == sum(count for code, count in codes.items() if code >= 500)
        assert row["dns_state"] == "resolved"
        assert row["robots_code"] is not None
        # asked for one after the other: its robots.txt before all pages, its last page at the end
        pages = [entry for entry in entries[host] if "robots" not in entry.path]
        before_last = entries[host][entries[host].index(pages[-1]) - 1]
        asked_at, seen_at = clocks.of(row["robots_asked_at"]), clocks.of(row["last_seen"])
        assert clocks.began - 1 <= asked_at <= pages[0].ended + 1
        assert before_last.ended - 1 <= seen_at <= fetched_s + 1
        assert row["last_seen"] <= row["last_fetched"]
        robots = web.expected(f"http://{host}:{web.settings.port}/robots.txt")
        if robots.code == row["robots_code"] == 200:
            lines = robots.body.lower().split(b"\n")
            assert row["robots_sitemaps"] == sum(line.startswith(b"sitemap:") for line in lines)
        assert row["crawl_delay_s"] == (web.crawl_delay(host) or 0)
        assert (row["contents"], row["bytes"]) == (len(sizes[host]), sum(sizes[host]))
        assert row["size_max"] == max(sizes[host], default=0)
        if sizes[host]:
            truth = float(np.quantile(sizes[host], 0.95, method="inverted_cdf"))
            assert row["size_p95"] == pytest.approx(truth, rel=ACCURACY + 1e-9)
        assert row["first_seen"] <= row["last_fetched"]
        in_db = ("unfetched", "fetched", "gone", "redir_temp", "redir_perm", "parse_failed")
        assert row["urls"] == sum(row[column] for column in in_db)
        assert row["fetched"] + row["parse_failed"] == codes[200]
        assert row["pages"] >= row["distinct_pages"] > 0
    assert {row["crawl_delay_s"] for row in rows.values()} == {0, 0.05}
    assert {row["robots_sitemaps"] for row in rows.values()} > {0}
    assert done.report.counters["requests"] == sum(codes.total() for codes in asked.values())
    assert done.report.counters["bytes"] == sum(map(sum, sizes.values()))
    again = updatehostdb.run(InProcess(), directory, config, UpdateHostDbOptions(), clock)
    assert again.segments == ()
    assert hosts_of(directory) == rows


RECORDS = {
    "http://a.org/": datum(status=Status.DB_REDIR_PERM),
    "https://a.org/": datum(status=Status.DB_FETCHED, signature=b"1" * 16),
    "https://a.org/p": datum(status=Status.DB_NOTMODIFIED, signature=b"1" * 16),
    "https://a.org/q": datum(status=Status.DB_GONE, retries=2),
    "http://b.org/": datum(),
    "http://b.org/x": datum(status=Status.DB_DUPLICATE, signature=b"2" * 16),
}


def test_a_host_is_counted_from_the_crawldb(tmp_path: Path) -> None:
    directory = make_crawldb(str(tmp_path / "c"), RECORDS, group_rows=1)
    done = update_hosts(directory)
    rows = hosts_of(directory)
    a, b = rows["a.org"], rows["b.org"]
    assert (a["urls"], a["fetched"], a["redir_perm"], a["not_modified"], a["gone"]) == (
        4,
        1,
        1,
        1,
        1,
    )
    assert (a["pages"], a["distinct_pages"], a["duplicates_share"]) == (2, 1, 0.5)
    assert (a["homepage"], a["connection_failures"]) == ("https://a.org/", 1)
    assert (b["unfetched"], b["duplicate"], b["homepage"], b["requests"]) == (1, 1, None, 0)
    assert (b["response_ms_p95"], b["dns_state"]) == (None, "")
    assert done.report.counters["hosts_new"] == 2


@pytest.mark.parametrize("buckets", [1, 3])
def test_a_bucket_of_several_files_is_counted_as_one(tmp_path: Path, buckets: int) -> None:
    crawl = Crawl(tmp_path, RECORDS, buckets=buckets)
    make_segment(crawl.directory, S1, [(url, answer(5)) for url in RECORDS], [])
    expected_directory = CrawlDir(shutil.copytree(tmp_path / "crawl", tmp_path / "one").as_posix())
    updatedb_of = {"crawldb.file.rows": 1}
    crawl.update(settings=updatedb_of)
    small = crawl.directory.require_crawldb()
    assert len(small.files) > small.buckets or buckets == 3
    updatedb.run(
        InProcess(), expected_directory, Config.of({}), UpdateDbOptions(), ManualClock(NOW)
    )
    update_hosts(crawl.directory)
    update_hosts(expected_directory)
    assert hosts_of(crawl.directory) == hosts_of(expected_directory)


def test_segments_are_counted_once_in_any_order_and_grouping(tmp_path: Path) -> None:
    first = [(A, answer(10)), (B, answer(30, Status.FETCH_GONE)), (C, link())]
    second = [(A, answer(2000, fetch_time=NOW - 5)), (B, fetched(Status.FETCH_RETRY, metadata={}))]
    found = []
    every_order: list[list[tuple[str, ...]]] = [
        [(S1, S2)],
        [(S1,), (S2,)],
        [(S2,), (S1,)],
        [(), ()],
    ]
    for number, orders in enumerate(every_order):
        crawl = Crawl(tmp_path / str(number), {A: datum(), B: datum()})
        crawl.segment(S1, first)
        crawl.segment(S2, second)
        for names in orders:
            update_hosts(crawl.directory, *names)
        found.append(hosts_of(crawl.directory))
        with pytest.raises(UsageError, match="is in the HostDb already"):
            update_hosts(crawl.directory, S1)
    assert all(rows == found[0] for rows in found)
    a, b = found[0]["a.org"], found[0]["b.org"]
    assert (a["requests"], a["answered"], a["response_ms_total"]) == (2, 2, 2010)
    assert a["response_ms_p50"] == pytest.approx(10, rel=0.021)
    assert a["response_ms_p99"] == pytest.approx(2000, rel=0.021)
    assert (b["requests"], b["refused"], b["failed"], b["answered"]) == (2, 1, 1, 1)
    assert "c.org" not in found[0]


def test_a_name_without_an_address_is_known(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path, {A: datum(), B: datum()})
    lost = fetched(Status.FETCH_RETRY, metadata={PROTOCOL_STATUS_KEY: "exception(unknown_host: x)"})
    crawl.segment(S1, [(A, lost), (B, answer(1))])
    update_hosts(crawl.directory)
    rows = hosts_of(crawl.directory)
    assert (rows["a.org"]["dns_failures"], rows["a.org"]["dns_state"]) == (1, "failed")
    assert (rows["b.org"]["dns_failures"], rows["b.org"]["dns_state"]) == (0, "resolved")
    crawl.segment(S2, [(A, answer(1, fetch_time=NOW))])
    update_hosts(crawl.directory)
    again = hosts_of(crawl.directory)["a.org"]
    assert (again["dns_failures"], again["dns_state"]) == (1, "resolved")


def test_the_hostdb_follows_the_crawldb_to_more_buckets(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path, {A: datum(), B: datum(), C: datum()}, buckets=2)
    crawl.segment(S1, [(A, answer(10)), (B, answer(20))])
    update_hosts(crawl.directory)
    before = hosts_of(crawl.directory)
    rebucket.run(InProcess(), crawl.directory, Config(), RebucketOptions(8), ManualClock(NOW))
    done = update_hosts(crawl.directory)
    assert done.state.buckets == 8
    assert hosts_of(crawl.directory) == before


def test_rebuilding_counts_what_is_there(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path, {A: datum()})
    crawl.segment(S1, [(A, answer(10))])
    crawl.segment(S2, [(A, answer(20))])
    update_hosts(crawl.directory)
    before = hosts_of(crawl.directory)
    update_hosts(crawl.directory, rebuild=True)
    assert hosts_of(crawl.directory) == before
    crawl.directory.segments.folder.delete(S1)
    update_hosts(crawl.directory, rebuild=True)
    assert hosts_of(crawl.directory)["a.org"]["requests"] == 1


def test_what_cannot_be_counted_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(NoSnapshot, match="no CrawlDb yet"):
        update_hosts(CrawlDir(str(tmp_path / "none")))
    crawl = Crawl(tmp_path, {A: datum()})
    crawl.segment(S1, [(A, answer(10))])
    segment = crawl.directory.segments.segment(S1)
    whole = segment.require(FETCH)
    segment.publish(FETCH, PartManifest(whole.files, whole.created_ms, complete=False))
    with pytest.raises(UsageError, match=f"the fetch of {S1} was interrupted"):
        update_hosts(crawl.directory, S1)
    done = update_hosts(crawl.directory)
    assert done.segments == ()
    assert done.remarks[0].startswith(f"passed over: the fetch of {S1} was interrupted")
    with pytest.raises(UsageError, match="name none"):
        update_hosts(crawl.directory, S1, rebuild=True)
    folder = crawl.directory.dataset(HOSTDB).folder
    clock = SystemClock()
    with (
        hold_lock(folder, "other", clock, stale_after_ms=60_000, heartbeat_s=10),
        pytest.raises(Locked),
    ):
        update_hosts(crawl.directory, clock=clock)


def update_in_child(address: str) -> None:
    update_hosts(CrawlDir(address), clock=SystemClock())


@pytest.mark.exhaustive
@pytest.mark.slow
def test_killed_at_every_write_a_segment_is_counted_once(tmp_path: Path) -> None:
    base = Crawl(tmp_path, {A: datum(), B: datum()}, buckets=2)
    base.segment(S1, [(A, answer(10)), (B, answer(20))])
    update_hosts(base.directory)
    base.segment(S2, [(A, answer(30))])
    at = 1
    while True:
        wreck = CrawlDir(shutil.copytree(tmp_path / "crawl", tmp_path / f"k{at}").as_posix())
        killed = run_killed(update_in_child, wreck.address, at=at)
        assert hosts_of(wreck)["a.org"]["requests"] in (1, 2)
        update_hosts(wreck, clock=SystemClock())
        assert hosts_of(wreck)["a.org"]["requests"] == 2
        assert set(wreck.dataset(HOSTDB).require_current().applied) == {S1, S2}
        shutil.rmtree(tmp_path / f"k{at}")
        if not killed:
            break
        at += 1
    assert at > 8
