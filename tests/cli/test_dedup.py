"""dedup through the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from crawl.model.status import Status
from tests.cli.calling import Caller
from tests.phases.made import datum, make_crawldb, records_of
from tests.phases.test_dedup import page

RECORDS = {
    **{f"http://h{n}.org/": page(score=n) for n in range(4)},
    "http://alone.org/": page(b"a" * 16),
}


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_duplicates_are_marked_and_told_of(crawl: Caller, tmp_path: Path) -> None:
    directory = make_crawldb(str(tmp_path / "c"), RECORDS)
    answer = crawl("dedup", tmp_path / "c", "-q", "--groups", "5")
    assert answer.code == 0, answer.err
    rows = [line.split() for line in answer.out.splitlines()]
    assert ["duplicates", "3"] in rows and ["records_compared", "5"] in rows
    assert rows[-1][:2] == ["4", "http://h3.org/"]
    assert "is now snapshot 2 with 3 duplicates, 3 of them new" in answer.err
    found = records_of(directory)
    assert found["http://h3.org/"].status is Status.DB_FETCHED
    assert found["http://h0.org/"].status is Status.DB_DUPLICATE

    files = [tmp_path / "groups.json", tmp_path / "groups.parquet"]
    again = crawl("dedup", tmp_path / "c", "--json", "--report", files[0])
    assert again.json["snapshot"] == 2 and again.json["groups"][0]["size"] == 4
    assert crawl("dedup", tmp_path / "c", "-q", "--report", files[1]).code == 0
    (group,) = json.loads(files[0].read_text())
    assert group == pq.read_table(files[1]).to_pylist()[0]
    assert (group["survivor"], len(group["duplicates"])) == ("http://h3.org/", 3)


@pytest.mark.parametrize(
    ("arguments", "said", "code"),
    [
        (["--group", "hots"], "no group 'hots'", 2),
        (["--compare-order", "size"], "nothing is called 'size'", 2),
        (["--report", "groups.txt"], "ends neither in .json nor in .parquet", 2),
        (["-group", "host"], "-group is spelt --group here", 2),
    ],
)
def test_wrong_input_is_one_line(
    crawl: Caller, tmp_path: Path, arguments: list[str], said: str, code: int
) -> None:
    make_crawldb(str(tmp_path / "c"), {"http://a.org/": datum()})
    answer = crawl("dedup", tmp_path / "c", *arguments)
    assert answer.code == code and said in answer.err
    assert answer.err.count("\n") == 1


def test_a_crawl_without_a_crawldb(crawl: Caller, tmp_path: Path) -> None:
    answer = crawl("dedup", tmp_path / "none")
    assert answer.code == 2 and "has no CrawlDb yet" in answer.err
