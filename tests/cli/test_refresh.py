"""crawl refresh through the command line; a small CrawlDb needs no Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from crawl.clock import SystemClock
from crawl.model.status import Status
from crawl.storage.crawl_dir import CrawlDir
from tests.cli.calling import Caller
from tests.phases.made import DAY, datum, make_crawldb, records_of

LATER = SystemClock().now_ms() + 10 * DAY


@pytest.fixture
def where(tmp_path: Path) -> str:
    records = {f"http://a.org/p{n}": datum(fetch_time=LATER) for n in range(3)}
    records["http://a.org/gone"] = datum(status=Status.DB_GONE, fetch_time=LATER)
    records["http://b.org/"] = datum(fetch_time=LATER)
    return make_crawldb(str(tmp_path / "c"), records).address


def rows(out: str) -> dict[str, int]:
    pairs = (line.rsplit(maxsplit=1) for line in out.splitlines()[1:])
    return {what: int(count.replace(",", "")) for what, count in pairs}


def test_what_it_says_and_does(crawl: Caller, where: str) -> None:
    planned = crawl("refresh", where, "a.org", "--dry-run")
    assert planned.code == 0, planned.err
    counts = {"matched": 4, "made due": 3, "already due": 0, "gone": 1, "on fetch list": 0}
    assert rows(planned.out) == counts
    assert planned.err == "refresh: 3 URLs would be made due; nothing was changed\n"
    done = crawl("refresh", where, "a.org", "c.org")
    assert rows(done.out) == counts
    assert done.err.splitlines() == [
        "refresh: no URL of the CrawlDb matches c.org",
        f"refresh: {where}/crawldb is now snapshot 2; `crawl run {where} --until-empty` fetches"
        " what is due",
    ]
    again = crawl("refresh", where, "a.org", "--gone", "--json")
    assert again.json["snapshot"] == 3
    assert again.json["report"]["counters"]["already_due"] == 3
    assert again.json["report"]["counters"]["made_due.db_gone"] == 1
    assert crawl("refresh", where, "a.org").code == 0, "it is so already"
    due = {url for url, record in records_of(CrawlDir(where)).items() if record.fetch_time < LATER}
    assert due == {f"http://a.org/{name}" for name in ("p0", "p1", "p2", "gone")}


@pytest.mark.parametrize(
    ("pattern", "code", "line"),
    [
        ("c.org", 1, "no URL of the CrawlDb matches c.org"),
        ("a b", 2, "'a b' is no host, URL or pattern: give one such as example.org"),
    ],
)
def test_faults_are_one_line(crawl: Caller, where: str, pattern: str, code: int, line: str) -> None:
    answer = crawl("refresh", where, pattern)
    assert answer.code == code
    assert line in answer.err
    assert answer.err.count("\n") == 1
