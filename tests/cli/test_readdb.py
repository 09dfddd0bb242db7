from __future__ import annotations

import csv
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from crawl.storage.crawl_dir import CrawlDir
from tests.cli.calling import Caller


def test_stats_for_people(crawl: Caller, made: str) -> None:
    answer = crawl("readdb", made, "--stats", "--sort")
    assert answer.code == 0
    lines = [line.split() for line in answer.out.splitlines()]
    assert ["TOTAL", "urls", "10"] in lines
    assert ["status", "1", "(db_unfetched)", "5"] in lines
    assert ["retry", "2", "3"] in lines
    assert ["h0.org", "4", "2", "2"] in lines


def test_stats_for_programs(crawl: Caller, made: str) -> None:
    stats = crawl("readdb", made, "--stats", "--sort", "--json").json
    assert stats["urls"] == 10
    assert stats["status"] == {"db_unfetched": 5, "db_fetched": 5}
    assert stats["retries"] == {"0": 4, "1": 3, "2": 3}
    assert stats["score"] == {"min": 0.0, "avg": 1.125, "max": 2.25}
    assert stats["scoreQuantiles"]["0.5"] == 1.0
    assert stats["fetchInterval"]["avg"] == 2_592_000
    assert stats["fetchTime"]["max"] == "2027-01-15 08:00:00 UTC"
    assert stats["hosts"]["h1.org"] == {"db_unfetched": 1, "db_fetched": 2}
    assert "hosts" not in crawl("readdb", made, "--stats", "--json").json


def test_one_url(crawl: Caller, made: str) -> None:
    record = crawl("readdb", made, "--url", "http://h1.org/p4", "--json").json
    assert record["statusName"] == "db_unfetched"
    assert record["metadata"] == {"lang": "en"}
    answer = crawl("readdb", made, "--url", "HTTP://h1.org:80/p4")
    assert answer.code == 0
    assert "lang = en" in answer.out
    missing = crawl("readdb", made, "--url", "http://h1.org/none", "--json")
    assert (missing.code, missing.json) == (1, None)
    assert crawl("readdb", made, "--url", "not a url").code == 1


def test_top(crawl: Caller, made: str) -> None:
    rows = crawl("readdb", made, "--top", 3, "--json").json
    assert rows == [
        {"score": 2.25, "url": "http://h0.org/p9"},
        {"score": 2.0, "url": "http://h2.org/p8"},
        {"score": 1.75, "url": "http://h1.org/p7"},
    ]
    assert len(crawl("readdb", made, "--top", 100, "--min", 1.9, "--json").json) == 2


def test_dump_as_json_lines(crawl: Caller, made: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    answer = crawl("readdb", made, "--dump", out, "--format", "json", "--status", "db_fetched")
    assert answer.code == 0
    assert (out / "_SUCCESS").exists()
    rows = [json.loads(line) for part in out.glob("*.jsonl") for line in part.open()]
    assert sorted(row["url"] for row in rows) == sorted(
        f"http://h{n % 3}.org/p{n}" for n in (1, 3, 5, 7, 9)
    )
    (nine,) = [row for row in rows if row["url"].endswith("p9")]
    assert (nine["signature"], nine["retryIntervalDays"]) == ("09", 30.0)


def test_dump_as_csv_with_nutchs_columns(crawl: Caller, made: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    crawl("readdb", made, "--dump", out, "--format", "csv", "--regex", "http://h1.*", "--retry", 1)
    rows = [row for part in out.glob("*.csv") for row in csv.DictReader(part.open())]
    assert [(row["Url"], row["Metadata"]) for row in rows] == [
        ("http://h1.org/p1", ""),
        ("http://h1.org/p4", "lang:en"),
        ("http://h1.org/p7", ""),
    ]


def test_dump_as_parquet_and_text(crawl: Caller, made: str, tmp_path: Path) -> None:
    crawl("readdb", made, "--dump", tmp_path / "p")
    assert sum(pq.read_table(part).num_rows for part in (tmp_path / "p").glob("*.parquet")) == 10
    crawl("readdb", made, "--dump", tmp_path / "t", "--format", "text", "--regex", ".*p4")
    (part,) = (tmp_path / "t").glob("*.txt")
    assert "status          1 (db_unfetched)" in part.read_text()


def test_a_sample_is_a_share(crawl: Caller, made: str, tmp_path: Path) -> None:
    for share, expected in ((0, 0), (1, 10)):
        out = tmp_path / f"{share}"
        result = crawl("readdb", made, "--dump", out, "--sample", share, "--json").json
        assert result["records"] == expected


def test_a_dump_never_deletes_other_files(crawl: Caller, made: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert crawl("readdb", made, "--dump", out).code == 0
    again = crawl("readdb", made, "--dump", out)
    assert (again.code, "--overwrite" in again.err) == (2, True)
    assert crawl("readdb", made, "--dump", out, "--overwrite").code == 0
    (out / "diary.txt").write_text("dear diary")
    refused = crawl("readdb", made, "--dump", out, "--overwrite")
    assert (refused.code, "it holds other files" in refused.err) == (2, True)
    assert (out / "diary.txt").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give one of --stats"),
        (["--stats", "--top", "3"], "give one of --stats"),
        (["--stats", "--format", "csv"], "--format goes with --dump"),
        (["--dump", "x", "--min", "1"], "--min goes with --top"),
        (["--dump", "x", "--regex", "("], "--regex '('"),
        (["--stats", "--snapshot", "99"], "there is no snapshot 99"),
    ],
)
def test_what_cannot_be_meant_is_one_line(
    crawl: Caller, made: str, arguments: list[str], message: str
) -> None:
    answer = crawl("readdb", made, *arguments)
    assert answer.code == 2
    assert message in answer.err
    assert answer.err.count("\n") == 1


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_an_expression_chooses_rows(crawl: Caller, made: str, tmp_path: Path) -> None:
    expr = "status = 'db_unfetched' AND score >= 1 AND fetch_time < timestamp '2027-01-14'"
    out = tmp_path / "out"
    answer = crawl("readdb", made, "--dump", out, "--format", "json", "--expr", expr)
    assert answer.code == 0, answer.err
    rows = [json.loads(line) for part in out.glob("*.jsonl") for line in part.open()]
    assert sorted(row["url"][-2:] for row in rows) == ["p4", "p6", "p8"]
    assert sorted(path.name for path in out.iterdir() if not path.name.startswith("part-")) == [
        "_SUCCESS"
    ]
    by_metadata = crawl(
        "readdb", made, "--dump", tmp_path / "m", "--expr", "metadata['lang'] = 'en'", "--json"
    )
    assert by_metadata.json["records"] == 1


@pytest.mark.spark
@pytest.mark.parametrize(
    ("expr", "message"),
    [
        ("scroe > 1", "scroe"),
        ("score >", "--expr 'score >': Syntax error at"),
        ("score + 1", "--expr 'score + 1': "),
        ("java_method('java.lang.System', 'exit', 3) = 1", "may not be used"),
        ("score > (select 1)", "may not be used"),
    ],
)
def test_a_wrong_expression_is_one_line(
    crawl: Caller, made: str, tmp_path: Path, spark: object, expr: str, message: str
) -> None:
    answer = crawl("readdb", made, "--dump", tmp_path / "out", "--expr", expr)
    assert answer.code == 2
    assert message in answer.err
    assert answer.err.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_a_wrong_expression_leaves_the_dump_that_it_was_to_replace(
    crawl: Caller, made: str, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    assert crawl("readdb", made, "--dump", out).code == 0
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    assert crawl("readdb", made, "--dump", out, "--overwrite", "--expr", "scroe > 1").code == 2
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_an_older_snapshot_can_be_read(crawl: Caller, made: str) -> None:
    number = CrawlDir(made).require_crawldb().number
    assert crawl("readdb", made, "--stats", "--json", "--snapshot", number).json["urls"] == 10
