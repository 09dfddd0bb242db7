from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.phases.inject import run as inject
from crawl.phases.inject.options import InjectOptions
from crawl.storage.crawl_dir import CrawlDir
from crawl.tables.runner import InProcess
from tests.cli.calling import Caller
from tests.phases.made import records_of


@pytest.fixture
def three(tmp_path: Path) -> Path:
    """A crawl of three snapshots with one, two and three URLs."""
    for n in range(3):
        add_seed(tmp_path / "c", n)
    return tmp_path / "c"


def add_seed(place: Path, number: int) -> None:
    seeds = place.parent / f"{number}.txt"
    seeds.write_text(f"http://h{number}.org/\n")
    options = InjectOptions((str(seeds),))
    inject.run(InProcess(), CrawlDir(str(place)), Config(), options, SystemClock())


def test_a_whole_crawl(crawl: Caller, three: Path) -> None:
    answer = crawl("check", three)
    assert (answer.code, answer.out) == (0, "")
    assert "no damage in" in answer.err
    report = crawl("check", three, "--deep", "--json", "--repair").json
    assert report["faults"] == report["done"] == report["left"] == []
    assert not (three / "quarantine").exists()


def test_where_there_is_no_crawl(crawl: Caller, tmp_path: Path) -> None:
    answer = crawl("check", tmp_path / "none")
    assert (answer.code, "no such crawl" in answer.err) == (2, True)


def test_both_pointers_gone(crawl: Caller, three: Path) -> None:
    """Nobody advises to start anew, nobody writes, and one command brings all back."""
    before = sorted((three / "crawldb").rglob("*.parquet"))
    for name in ("CURRENT", "CURRENT.copy"):
        (three / "crawldb" / name).unlink()
    for line in (("readdb", three, "--stats"), ("snapshots", three), ("gc", three, "--keep", 1)):
        answer = crawl(*line)
        assert answer.code == 2
        assert "snapshots that are there: 1, 2, 3" in answer.err
        assert "crawl check" in answer.err
        assert "inject" not in answer.err
    with pytest.raises(Exception, match="is gone"):
        add_seed(three, 9)
    assert sorted((three / "crawldb").rglob("*.parquet")) == before
    found = crawl("check", three)
    assert (found.code, "CURRENT" in found.out, "--repair" in found.err) == (1, True, True)
    repaired = crawl("check", three, "--repair")
    assert repaired.code == 0
    assert "made snapshot 3 the current one" in repaired.err
    assert len(records_of(CrawlDir(str(three)))) == 3
    assert sorted((three / "crawldb").rglob("*.parquet")) == before
    add_seed(three, 9)
    assert len(records_of(CrawlDir(str(three)))) == 4


def test_a_damaged_page_sends_back_to_the_newest_whole_snapshot(crawl: Caller, three: Path) -> None:
    directory = CrawlDir(str(three))
    snapshot = directory.require_crawldb()
    own = next(file for file in snapshot.files if "/000003/" in file.path)
    path = three / "crawldb" / own.path
    group = pq.read_metadata(path).row_group(0)
    score = next(
        group.column(number)
        for number in range(group.num_columns)
        if group.column(number).path_in_schema == "score"
    )
    raw = bytearray(path.read_bytes())
    raw[score.data_page_offset + score.total_compressed_size - 1] ^= 1
    path.write_bytes(bytes(raw))
    answer = crawl("readdb", three, "--stats")
    assert answer.code == 2
    assert own.path in answer.err and "row group 0 is damaged" in answer.err
    assert crawl("check", three).code == 0, "footers are whole"
    assert crawl("check", three, "--deep").code == 1
    repaired = crawl("check", three, "--deep", "--repair", "--json")
    assert (repaired.code, repaired.json["left"]) == (0, [])
    assert len(records_of(directory)) == 2
    (moved,) = (three / "quarantine").rglob(path.name)
    assert moved.read_bytes() == bytes(raw)
    assert directory.require_crawldb().number == 2
    add_seed(three, 9)
    assert directory.require_crawldb().number == 4, "a number is never given twice"


def test_a_damaged_manifest_of_the_current_snapshot(crawl: Caller, three: Path) -> None:
    for name in ("manifest.json", "manifest.json.copy"):
        (three / "crawldb/snapshots/000003" / name).write_bytes(b"garbled")
    answer = crawl("readdb", three, "--stats")
    assert (answer.code, "000003/manifest.json is damaged" in answer.err) == (2, True)
    listed = crawl("snapshots", three, "--json")
    assert [row["by"] for row in listed.json] == ["inject", "inject", "damaged"]
    again = shutil.copytree(three, three.parent / "again")
    assert "snapshot 2 with 2 URLs" in crawl("rollback", three).err
    assert crawl("check", again, "--repair").code == 0
    assert len(records_of(CrawlDir(str(again)))) == 2


@pytest.mark.slow(seconds=15)
def test_gc_beside_readers(crawl: Caller, three: Path) -> None:
    """A reader whose snapshot goes away takes the next one."""
    over = threading.Event()
    failures: list[BaseException] = []

    def write() -> None:
        directory, number = CrawlDir(str(three)), 10
        try:
            while not over.is_set():
                add_seed(three, number)
                with directory.writing_crawldb("gc", Config(), SystemClock()) as transaction:
                    transaction.keep_newest(1)
                number += 1
        except BaseException as error:
            failures.append(error)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(40):
            for line in (
                ("readdb", three, "--stats", "--json"),
                ("readdb", three, "--url", "http://h0.org/"),
                ("explain", three, "http://h0.org/"),
                ("status", three),
            ):
                answer = crawl(*line)
                assert answer.code == 0, answer
    finally:
        over.set()
        writer.join()
    assert failures == []
