"""dedup through the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from crawl.model.status import Status
from tests.cli.calling import Caller
from tests.phases.dedup.test_dedup import page, statuses
from tests.phases.dedup.test_dedup_documentation import crawl_of, drop_text
from tests.phases.linked_crawl import in_this_process
from tests.phases.made import datum, make_crawldb, records_of

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
    (group,) = json.loads(files[0].read_text())["groups"]
    assert group == pq.read_table(files[1]).to_pylist()[0]
    assert (group["survivor"], len(group["duplicates"])) == ("http://h3.org/", 3)


def test_what_a_report_leaves_out_is_told(
    crawl: Caller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = {"a": 9, "b": 5, "c": 2, "d": 2}
    records = {
        f"http://{name}.org/{n}": page(name.encode() * 16)
        for name in sizes
        for n in range(sizes[name])
    }
    root = make_crawldb(str(tmp_path / "c"), records).address
    files = {kind: tmp_path / f"groups.{kind}" for kind in ("json", "parquet")}
    with in_this_process(monkeypatch):
        chosen = ("--groups", "3", "--urls", "6")
        told = {kind: crawl("dedup", root, *chosen, "--report", files[kind]) for kind in files}
        last = told["json"].err.splitlines()[-1]
        assert last == (
            f"dedup: 3 of 4 groups in {files['json']}; left out: 1 smaller group (--groups)"
            " and 2 URLs of those in it (--urls)"
        )
        values = crawl("dedup", root, *chosen, "--json").json
        all_of_it = crawl("dedup", root, "--urls", "100", "--report", files["json"]).err
    report = json.loads(files["json"].read_text())
    assert (report["groups_found"], report["groups_left_out"], report["urls_left_out"]) == (4, 0, 0)
    assert [len(group["duplicates"]) for group in report["groups"]] == [8, 4, 1, 1]
    assert all_of_it.splitlines()[-1] == f"dedup: 4 of 4 groups in {files['json']}"
    table = pq.read_table(files["parquet"])
    assert table["left_out"].to_pylist() == [2, 0, 0]
    assert pc.list_value_length(table["duplicates"]).to_pylist() == [6, 4, 1]
    told_of = {name.decode(): count for name, count in (table.schema.metadata or {}).items()}
    for name, count in (("groups_found", 4), ("groups_left_out", 1), ("urls_left_out", 2)):
        assert values[name] == count == int(told_of[name])


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


def test_a_preview_can_be_looked_at_whatever_pages_say(
    crawl: Caller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = drop_text("VIEW")
    hostile = "DROP VIEW\x1b[2J\u202e\nstays   http://forged.test/"
    pages = {
        "http://docs.test/view": ("DROP VIEW", text),
        "http://mirror.test/view": ("DROP VIEW", text.replace("too.", "too\x1b]0;owned\x07.")),
        "http://other.test/view": (hostile, text),
        "http://another.test/view": (hostile, text.replace("too.", "also.")),
    }
    directory = crawl_of(tmp_path / "c", pages)
    with in_this_process(monkeypatch):
        shown = crawl("dedup", directory.address, "--near", "jaccard", "--preview")
        values = crawl("dedup", directory.address, "--near", "jaccard", "--preview", "--json").json
        none = crawl("dedup", directory.address, "--preview")
    assert shown.code == 0, shown.err
    assert not {"\x1b", "\x07", "\u202e"} & set(shown.out + shown.err)
    lines = shown.out.splitlines()
    assert "  stays   http://docs.test/view  DROP VIEW" in lines
    assert "  marked  http://mirror.test/view  DROP VIEW" in lines
    assert "    - too." in lines and "    + too\\x1b]0;owned\\x07." in lines
    assert not [line for line in lines if line.startswith("stays")], "a title is on one line"
    assert "nothing was marked" in shown.err and "would change 2 records" in shown.err
    assert set(statuses(directory).values()) == {Status.DB_FETCHED}
    assert {pair["duplicate"] for pair in values["pairs"]} == {
        "http://mirror.test/view",
        "http://another.test/view",
    }
    assert none.code == 2 and none.err.count("\n") == 1 and "it needs --near" in none.err
