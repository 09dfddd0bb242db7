from __future__ import annotations

import json
from pathlib import Path

import pytest

from crawl.clock import SystemClock
from crawl.fetcher.task import PROGRESS
from crawl.model.costs import EngineCosts
from crawl.model.report import Report
from crawl.phases.updatedb import run as updatedb
from crawl.storage.chunks import ChunkLog
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.lock import hold_lock
from crawl.storage.segments import CONTENT, FETCH, GENERATE, PARSE, PartFile, PartManifest
from tests.cli.calling import Caller
from tests.phases.made import NOW, datum, make_crawldb
from tests.phases.troubled import trouble, update, write_troubles
from tests.phases.webs import listed

URLS = [f"http://h{n % 4}.org/{n}" for n in range(20)]


@pytest.fixture
def made(tmp_path: Path) -> tuple[CrawlDir, str]:
    return listed(str(tmp_path / "c"), URLS)


def publish(directory: CrawlDir, name: str, rows: int, *, complete: bool) -> None:
    segment = directory.segments.segment(name)
    manifest = PartManifest((PartFile(0, "part.parquet", rows, 1),), 0, complete)
    segment.publish(CONTENT, manifest)
    segment.publish(FETCH, manifest)


def row(crawl: Caller, directory: CrawlDir) -> dict[str, object]:
    answer = crawl("status", directory.address, "--json")
    assert answer.code == 0, answer.err
    (found,) = answer.json
    assert isinstance(found, dict)
    return found


def test_before_in_between_and_after(crawl: Caller, made: tuple[CrawlDir, str]) -> None:
    directory, name = made
    expected = {
        "segment": name,
        "urls": 20,
        "records": 0,
        "state": "generated",
        "progress": "",
        "waits": [],
    }
    assert row(crawl, directory) == expected
    ChunkLog(directory.segments.segment(name).folder, 0).claim(0)
    assert row(crawl, directory) == {**expected, "state": "interrupted"}
    publish(directory, name, 12, complete=False)
    assert row(crawl, directory) == {**expected, "records": 12, "state": "interrupted"}
    publish(directory, name, 20, complete=True)
    assert row(crawl, directory) == {**expected, "records": 20, "state": "fetched"}


def test_a_segment_is_parsed_then_updated(
    crawl: Caller, made: tuple[CrawlDir, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    directory, name = made
    publish(directory, name, 20, complete=True)
    manifest = PartManifest((PartFile(0, "part.parquet", 20, 1),), 0, complete=True)
    directory.segments.segment(name).publish_parsed({PARSE: manifest})
    assert row(crawl, directory)["state"] == "parsed"
    monkeypatch.setattr(updatedb, "applied", lambda _: frozenset({name}))
    assert row(crawl, directory)["state"] == "updated"


def write_progress(directory: CrawlDir, name: str, part: int, content: bytes) -> None:
    folder = directory.segments.segment(name).folder
    folder.write(f"{PROGRESS}/part-{part:05d}.json", content)


def progress_json(part: int, done: int) -> bytes:
    content = {
        "part": part,
        "urls": 10,
        "done": done,
        "pages_per_s": 2.5,
        "kb_per_s": 100.0,
        "busy_threads": 3,
        "waiting": 4,
        "queues": 4,
        "queues_ready": 1,
        "queues_waiting": 3,
        "longest_queue_s": 10.0 * part,
        "told_ms": SystemClock().now_ms(),
    }
    return json.dumps(content).encode()


def test_during_a_fetch(crawl: Caller, made: tuple[CrawlDir, str]) -> None:
    directory, name = made
    segment = directory.segments.segment(name)
    parts = [file.part for file in segment.require(GENERATE).files]
    assert parts == [0, 1]
    with hold_lock(
        segment.folder, "fetch", SystemClock(), stale_after_ms=1e9, heartbeat_s=60
    ) as lock:
        state = row(crawl, directory)
        assert state["state"] == f"fetch on {lock.owner.host}"
        assert str(state["progress"]).startswith("0 of 20 URLs")
        write_progress(directory, name, 0, progress_json(0, 3))
        write_progress(directory, name, 1, progress_json(1, 4))
        assert row(crawl, directory)["progress"] == (
            "7 of 20 URLs, 5 pages/s, 200 kB/s, 6 threads busy, 2 queues ready, 6 waiting,"
            " 0:00:10 to go"
        )
        shown = crawl("status", directory.address)
        assert name in shown.out
        assert "7 of 20 URLs" in shown.out
    assert row(crawl, directory)["progress"] == ""


@pytest.mark.parametrize("torn", [b"", b'{"part": 1, "ur', b"[]", b"{}", b"\xff"])
def test_a_progress_file_that_is_not_whole_yet_is_left_out(
    crawl: Caller, made: tuple[CrawlDir, str], torn: bytes
) -> None:
    directory, name = made
    folder = directory.segments.segment(name).folder
    with hold_lock(folder, "fetch", SystemClock(), stale_after_ms=1e9, heartbeat_s=60):
        write_progress(directory, name, 0, progress_json(0, 3))
        write_progress(directory, name, 1, torn)
        assert str(row(crawl, directory)["progress"]).startswith("3 of 20 URLs")


def test_the_lock_of_the_dead_is_no_fetch(crawl: Caller, made: tuple[CrawlDir, str]) -> None:
    directory, name = made
    folder = directory.segments.segment(name).folder
    with hold_lock(folder, "fetch", SystemClock(), stale_after_ms=1e9, heartbeat_s=60) as lock:
        left = json.loads(folder.read("LOCK") or b"")
        assert left["token"] == lock.owner.token
    folder.write("LOCK", json.dumps({**left, "process_started": "0"}).encode())
    write_progress(directory, name, 0, progress_json(0, 3))
    ChunkLog(folder, 0).claim(0)
    state = row(crawl, directory)
    assert state["state"] == "interrupted"
    assert state["progress"] == ""


def test_a_crawl_without_segments(crawl: Caller, tmp_path: Path) -> None:
    answer = crawl("status", tmp_path / "none")
    assert answer.code == 2
    assert answer.err.count("\n") == 1


def test_status_lists_them(crawl: Caller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = make_crawldb(
        str(tmp_path / "c"), {f"http://dead{n}.org/": datum() for n in range(3)}
    )
    write_troubles(directory, "20270101000000", [trouble(f"dead{n}.org") for n in range(3)])
    update(directory)
    monkeypatch.setattr(SystemClock, "now_ms", lambda _: NOW + 60_000)
    answer = crawl("status", directory.address, "--hosts", "--json")
    assert len(answer.json) == 3
    assert answer.json[0] == {
        "host": "dead0.org",
        "reason": "robots_deferred",
        "failures": 1,
        "until": "2027-01-15 08:05:00 UTC",
    }
    answer = crawl("status", directory.address)
    assert "3 hosts are in backoff, the first until 2027-01-15 08:05:00 UTC" in answer.err
    assert "dead2.org" in answer.out


def test_what_the_phases_of_the_last_round_cost(crawl: Caller, made: tuple[CrawlDir, str]) -> None:
    directory, name = made
    publish(directory, name, 20, complete=True)
    answer = crawl("status", directory.address, "--phases")
    assert answer.code == 0, answer.err
    head, *lines = (line.split() for line in answer.out.splitlines())
    found = {line[0]: line for line in lines}
    generated, fetched = found["generate"], found["fetch"]
    assert head[:3] == ["phase", "started", "seconds"]
    assert head[-4:] == ["read", "written", "exchanged", "driver"]
    assert generated[-5:] == ["kB", "0", "B", "0", "B"]
    assert fetched[-8:] == ["-"] * 8  # it has no report
    rows = {
        row["phase"]: row for row in crawl("status", directory.address, "--phases", "--json").json
    }
    assert rows["generate"]["segments"] == rows["fetch"]["segments"] == [name]
    assert rows["generate"]["bytes_written"] > 0 and rows["fetch"]["bytes_written"] is None
    assert rows["generate"]["steps"]["collect"]["bytes_read"] > 0


def test_results_near_their_limit_are_remarked(crawl: Caller, made: tuple[CrawlDir, str]) -> None:
    directory, name = made
    publish(directory, name, 20, complete=True)
    costs = EngineCosts(largest_result_bytes=600_000_000, result_limit_bytes=1_000_000_000)
    report = Report("fetch", 4_000_000_000_000, "", engine=costs)
    directory.segments.segment(name).write_report(FETCH, report)
    answer = crawl("status", directory.address, "--phases")
    assert answer.err == (
        "status: fetch: the tasks of one job returned 600 MB, more than half of"
        " spark.driver.maxResultSize (1 GB)\n"
    )


def test_hosts_and_phases_are_two_questions(crawl: Caller, made: tuple[CrawlDir, str]) -> None:
    answer = crawl("status", made[0].address, "--phases", "--hosts")
    assert (answer.code, answer.out) == (2, "")
