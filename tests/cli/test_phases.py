"""inject and generate through the command line, on Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from crawl.clock import SystemClock
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.lock import hold_lock
from tests.cli.calling import Caller
from tests.phases.made import records_of, urls_of

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]


def test_a_crawl_from_seeds_to_segments(crawl: Caller, tmp_path: Path) -> None:
    seeds = tmp_path / "seeds.txt"
    lines = [f"http://h{n % 4}.org/p{n}" for n in range(40)]
    seeds.write_text("\n".join([*lines, "javascript:x", "http://h1.org/pic.gif"]))
    answer = crawl("inject", tmp_path / "c", seeds)
    assert answer.code == 0, answer.err
    rows = [line.split(maxsplit=2) for line in answer.out.splitlines()]
    assert ["malformed.scheme_not_crawled", "1", "javascript:x"] in rows
    assert any(row[:2] == ["urls_filtered", "1"] for row in rows)
    assert "snapshot 1 with 40 URLs" in answer.err

    result = crawl("inject", tmp_path / "c", seeds, "--json").json
    assert result["report"]["counters"]["urls_merged"] == 40

    directory = CrawlDir(str(tmp_path / "c"))
    result = crawl(
        "generate",
        tmp_path / "c",
        "--top-n",
        10,
        "--num-fetchers",
        3,
        "--json",
        "-D",
        "generate.max.count=2",
    ).json
    assert result["report"]["counters"]["urls_generated"] == 8
    assert len(urls_of(directory, result["segments"])) == 8

    marking = ["-D", "generate.update.crawldb=true"]
    answer = crawl("generate", tmp_path / "c", "--expr", "url LIKE '%p3_'", *marking)
    assert answer.code == 0, answer.err
    last = directory.segments.generated()[-1].name
    assert sorted(urls_of(directory, [last])) == sorted(lines[30:])
    assert len(records_of(directory)) == 40

    nothing = crawl("generate", tmp_path / "c", "--expr", "score > 5")
    assert nothing.code == 1
    assert "nothing is due" in nothing.err
    assert "expr_rejected" in nothing.out


def test_a_locked_crawldb_is_refused_with_its_owner(crawl: Caller, made: str) -> None:
    folder = CrawlDir(made).crawldb.folder
    with hold_lock(folder, "updatedb", SystemClock(), stale_after_ms=1e9, heartbeat_s=60):
        answer = crawl("generate", made)
        assert answer.code == 3
        assert "is locked: updatedb by" in answer.err
        assert "--steal-lock" in answer.err
        assert answer.err.count("\n") == 1
        forced = crawl("generate", made, "--steal-lock", "--add-days", 80)
        assert forced.code == 0
        assert "removed the lock of updatedb" in forced.err
    assert crawl("generate", made, "--add-days", 80).code == 0


def test_seeds_of_no_use_are_nothing_to_do(crawl: Caller, tmp_path: Path) -> None:
    seeds = tmp_path / "seeds.txt"
    seeds.write_text("javascript:x\n")
    answer = crawl("inject", tmp_path / "c", seeds)
    assert answer.code == 1
    assert answer.err.startswith("crawl: none of the 1 seed lines is usable (malformed.scheme")
    assert answer.err.count("\n") == 1


def test_seeds_that_cannot_be_read_are_one_line(crawl: Caller, tmp_path: Path) -> None:
    answer = crawl("inject", tmp_path / "c", tmp_path / "none.txt")
    assert answer.code == 2
    assert answer.err == f"crawl: {tmp_path}/none.txt: no such file or folder\n"
    assert not (tmp_path / "c").exists()


def test_a_folder_that_cannot_be_written_is_one_line(crawl: Caller, tmp_path: Path) -> None:
    seeds = tmp_path / "seeds.txt"
    seeds.write_text("http://a.org/\n")
    answer = crawl("inject", seeds / "below-a-file", seeds)
    assert answer.code == 2
    assert answer.err.count("\n") == 1
    assert "seeds.txt/below-a-file" in answer.err
