"""Segments of the service: closed when they are due, whole whatever dies, read by all others."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from crawl.clock import SystemClock
from crawl.errors import Locked
from crawl.fetcher.output.journal import JOURNAL
from crawl.fetcher.values.record import FetchRecord
from crawl.model.status import Status
from crawl.phases.generate import run as generate
from crawl.phases.generate.options import GenerateOptions
from crawl.phases.updatedb import run as updatedb
from crawl.phases.updatedb.options import UpdateDbOptions
from crawl.readers.status.segments import LEFT_OPEN, segments_status
from crawl.rounds.state import segment_states
from crawl.rounds.steps import Stage
from crawl.service.segments.roll import MAX_OPEN, SegmentRoll
from crawl.storage.checking import check
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.lock import LOCK_NAME
from crawl.storage.segments import CONTENT, FETCH, GENERATE, PARSE_TEXT, PARSED, is_of_service
from crawl.tables.runner import InProcess
from crawl.testing.clock import ManualClock
from tests.phases.fetched import parse_rows, stray_files
from tests.phases.killed import At, Moment, run_killed, writes_of
from tests.phases.made import records_of
from tests.phases.webs import contents, fetched
from tests.service.events import eventually
from tests.service.rolling import (
    CONFIG,
    added,
    fill,
    page,
    parse,
    parses_of,
    recover,
    roll_of,
)

_IN_CRAWLDB = {
    Status.FETCH_SUCCESS: Status.DB_FETCHED,
    Status.FETCH_GONE: Status.DB_GONE,
    Status.FETCH_RETRY: Status.DB_UNFETCHED,
}
"""What updatedb makes of a URL whose last answer was such a one."""
A, B, C, D = (f"http://{host}.org/" for host in "abcd")


def names(directory: CrawlDir) -> list[str]:
    return [segment.name for segment in directory.segments.generated()]


def only(stored: Mapping[str, str]) -> str:
    """The segment of all these answers."""
    (name,) = set(stored.values())
    return name


def end(roll: SegmentRoll, directory: CrawlDir, *, is_killed: bool) -> None:
    """Has all published, by the next start where this one ends at once."""
    if not is_killed:
        roll.close()
        return
    roll.abandon()
    recover(directory.address)


def assert_published_whole(directory: CrawlDir) -> None:
    """What is published is parsed, and nothing is left beside it."""
    for name in names(directory):
        segment = directory.segments.segment(name)
        rows = fetched(directory, name)
        assert len({url for url, _ in rows}) == len(rows), "a segment has one row of each URL"
        pages = sorted(url for url, datum in rows if datum.status is Status.FETCH_SUCCESS)
        assert sorted(contents(directory, name)) == pages
        assert sorted(row["url"] for row in parse_rows(segment, PARSE_TEXT)) == pages
        assert stray_files(segment) == []
        assert not segment.folder.exists(LOCK_NAME)
        assert segment.folder.child(JOURNAL).names() == []
    result = check(directory)
    assert (result.faults, result.leftovers) == ([], [])


def assert_whole(directory: CrawlDir, told: Path) -> None:
    """All that was stored is in published segments, parsed, and the CrawlDb takes it."""
    wanted = told.read_text().split() if told.exists() else []
    assert directory.segments.open_of_service() == []
    found: dict[str, Status] = {}
    for name in names(directory):
        found.update((url, datum.status) for url, datum in fetched(directory, name))
    assert_published_whole(directory)
    assert set(wanted) <= set(found)
    if not found:
        return
    updatedb.run(InProcess(), directory, CONFIG, UpdateDbOptions(), SystemClock())
    statuses = {url: record.status for url, record in records_of(directory).items()}
    for url, last in found.items():
        assert statuses[url] is _IN_CRAWLDB[last]
    for url in wanted:
        is_refused = url.startswith("http://h0.")
        assert statuses[url] is (Status.DB_GONE if is_refused else Status.DB_FETCHED)


def due(roll: SegmentRoll) -> float | None:
    return roll.due_in_s


def test_closed_when_it_is_old_or_large(tmp_path: Path) -> None:
    directory, clock = CrawlDir(str(tmp_path / "c")), ManualClock(1_800_000_000_000)
    settings = {"service.segment.seconds": 60, "service.segment.bytes": 15_000}
    roll = roll_of(directory, settings, clock)
    assert due(roll) is None
    roll.add([page("http://a.org/")], {})
    clock.advance(59)
    roll.publish_if_due()
    assert due(roll) == 1.0
    clock.advance(1)
    roll.publish_if_due()
    records = [page("http://a.org/", "x" * 3000)]
    second = only(roll.add(records, parses_of(records)))
    assert due(roll) == 60.0
    records = [page("http://b.org/", "x" * 3000)]
    assert only(roll.add(records, parses_of(records))) == second
    assert due(roll) == 0.0
    roll.publish_if_due()
    roll.close()
    first, last = names(directory)
    assert first < last == second
    assert is_of_service(first) and is_of_service(last)


@pytest.mark.parametrize("is_killed", [False, True])
def test_a_later_try_takes_the_place_of_the_one_before(tmp_path: Path, is_killed: bool) -> None:
    directory = CrawlDir(str(tmp_path / "c"))
    roll = roll_of(directory)
    name = only(roll.add([page(A, status=Status.FETCH_RETRY), page(B)], parses_of([page(B)])))
    assert only(roll.add([page(A, status=Status.FETCH_RETRY)], {})) == name
    records = [page(A), page(C, status=Status.FETCH_RETRY)]
    assert only(roll.add(records, parses_of(records[:1]))) == name
    end(roll, directory, is_killed=is_killed)
    assert names(directory) == [name]
    rows = {url: datum.status for url, datum in fetched(directory, name)}
    assert rows == {
        A: Status.FETCH_SUCCESS,
        B: Status.FETCH_SUCCESS,
        C: Status.FETCH_RETRY,
    }
    counts = directory.segments.segment(name).report(FETCH)["counters"]
    assert (counts["records"], counts["records_replaced"]) == (5, 2)
    assert_published_whole(directory)
    updatedb.run(InProcess(), directory, CONFIG, UpdateDbOptions(), SystemClock())
    record = records_of(directory)[A]
    assert (record.status, record.retries) == (Status.DB_FETCHED, 0)


@pytest.mark.parametrize("is_killed", [False, True])
def test_a_page_that_comes_again_goes_to_the_next_open_segment(
    tmp_path: Path, is_killed: bool
) -> None:
    """And what comes with it stays in the first, but for pages that were parsed with it."""
    directory = CrawlDir(str(tmp_path / "c"))
    roll = roll_of(directory)

    def add(*records: FetchRecord) -> dict[str, str]:
        return roll.add(records, parses_of(records))

    first = only(add(page(A)))
    stored = add(page(A, "again"), page(B), page(C, status=Status.FETCH_GONE))
    second = stored[A]
    assert stored == {A: second, B: second, C: first} and second > first
    assert only(add(page(D))) == first, "the first that takes it"
    assert only(add(page(B, "later"))) > second, "and never one before an answer of the URL"
    end(roll, directory, is_killed=is_killed)
    assert len(names(directory)) == 3
    assert_published_whole(directory)
    assert contents(directory, second)[A] != contents(directory, first)[A]


def test_an_answer_that_comes_twice_at_once_is_stored_twice(tmp_path: Path) -> None:
    directory = CrawlDir(str(tmp_path / "c"))
    roll = roll_of(directory)
    records = [page(A, "first"), page(B), page(A, "last")]
    roll.add(records, parses_of(records))
    roll.close()
    assert [len(fetched(directory, name)) for name in names(directory)] == [2, 1]
    assert_published_whole(directory)


def test_a_handful_is_open_at_most(tmp_path: Path) -> None:
    directory, clock = CrawlDir(str(tmp_path / "c")), ManualClock(1_800_000_000_000)
    roll = roll_of(directory, {"service.segment.seconds": 60}, clock)
    opened = []
    for _ in range(MAX_OPEN + 1):
        opened.append(only(roll.add([page(A)], parses_of([page(A)]))))
        clock.advance(1)
    assert opened == sorted(set(opened))
    eventually(lambda: names(directory) == opened[:1])
    assert due(roll) == 60.0 - MAX_OPEN, "each by its own age"
    clock.advance(60.0 - MAX_OPEN)
    roll.publish_if_due()
    eventually(lambda: names(directory) == opened[:2])
    assert due(roll) == 1.0
    roll.close()
    assert names(directory) == opened


def test_an_open_segment_is_nobodys_business(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    directory, clock = CrawlDir(str(tmp_path / "c")), SystemClock()
    roll = roll_of(directory)
    closed = directory.segments.segment(only(roll.add([page("http://a.org/")], {})))
    roll.publish()
    opened = only(roll.add([page("http://b.org/")], {}))
    # it is published in two writes, and who reads it in between is told so
    eventually(lambda: names(directory) != [] and not closed.folder.exists(LOCK_NAME))
    updatedb.run(InProcess(), directory, CONFIG, UpdateDbOptions(), clock)
    assert set(records_of(directory)) == {"http://a.org/", "http://a.org/of-text"}
    done = generate.run(
        *(InProcess(), directory, CONFIG, GenerateOptions(), clock), resolver=lambda host: None
    )
    assert len(done.segments) == 1, "the link that was found"
    assert caplog.messages == []
    assert opened not in names(directory)
    (row,) = [row for row in segments_status(directory, CONFIG, clock) if row["segment"] == opened]
    assert row["state"].startswith("serve on ")
    with pytest.raises(Locked):
        roll_of(directory).recover()
    roll.abandon()
    (row,) = [row for row in segments_status(directory, CONFIG, clock) if row["segment"] == opened]
    assert row["state"] == LEFT_OPEN
    recover(directory.address)
    stages = {state.name: state.stage for state in segment_states(directory)}
    assert stages[opened] is Stage.PARSED, "the next updatedb takes it"
    segment = directory.segments.segment(opened)
    assert segment.is_complete(FETCH) and segment.require(GENERATE).files == ()


@pytest.mark.parametrize(
    "moment",
    [
        At("write", "crawl_generate/manifest.json.copy"),
        At("write", "crawl_generate/manifest.json"),
        At("delete", "crawl_fetch/journal/part-00000/"),
        At("delete", "*-service/LOCK"),
    ],
    ids=["copied", "published", "journal", "lock"],
)
def test_killed_when_it_is_published_and_not_let_go_of(tmp_path: Path, moment: At) -> None:
    directory, told = CrawlDir(str(tmp_path / "c")), tmp_path / "told"
    assert run_killed(fill, directory.address, str(told), at=moment)
    (published,) = names(directory)
    assert directory.segments.segment(published).folder.exists(LOCK_NAME)
    recover(directory.address)
    assert_whole(directory, told)


def test_what_is_parsed_again_after_a_kill_stays_so(tmp_path: Path) -> None:
    directory, told = CrawlDir(str(tmp_path / "c")), tmp_path / "told"
    moment = At("write", "crawl_generate/manifest.json")
    assert run_killed(fill, directory.address, str(told), at=moment)
    (published,) = names(directory)
    segment = directory.segments.segment(published)
    parsed = {part: replace(segment.require(part), created_ms=1) for part in PARSED}
    segment.publish_parsed(parsed)
    recover(directory.address)
    assert {part: segment.require(part) for part in PARSED} == parsed
    assert not segment.folder.exists(LOCK_NAME)


@pytest.mark.slow(seconds=90)
@pytest.mark.exhaustive
def test_killed_at_its_writes(tmp_path: Path) -> None:
    """At one write of each kind, and once more while the next start makes it whole."""
    writes = writes_of(fill, str(tmp_path / "whole"), str(tmp_path / "whole.told"))
    assert_whole(CrawlDir(str(tmp_path / "whole")), tmp_path / "whole.told")
    chance = random.Random(1)
    for number, (kind, count) in enumerate(sorted(writes.items())):
        moment = Moment(kind, chance.randint(1, count))
        directory = CrawlDir(str(tmp_path / f"c{number}"))
        told = tmp_path / f"{number}.told"
        assert run_killed(fill, directory.address, str(told), at=moment), moment
        run_killed(recover, directory.address, at=chance.randint(1, 30))
        recover(directory.address)
        assert_whole(directory, told)


@pytest.mark.parametrize("cut", [1, 40])
def test_a_torn_note_costs_its_own_answers_alone(tmp_path: Path, cut: int) -> None:
    directory = CrawlDir(str(tmp_path / "c"))
    roll = roll_of(directory)
    for number in range(2):
        name = only(roll.add([page(url) for url in added(number)], {}))
    roll.abandon()
    (notes,) = (tmp_path / "c" / "segments" / name).rglob("*.notes")
    notes.write_bytes(notes.read_bytes()[:-cut])
    recover(directory.address)
    assert {url for url, _ in fetched(directory, name)} == set(added(0))


def test_a_damaged_chunk_is_told(tmp_path: Path) -> None:
    """Nothing of a segment is published that cannot be read, and nothing of it is deleted."""
    directory = CrawlDir(str(tmp_path / "c"))
    roll = roll_of(directory)
    records = [page(url) for url in added(0)]
    name = only(roll.add(records, parses_of(records)))
    roll.close()
    segment = directory.segments.segment(name)
    (file,) = segment.require(CONTENT).files
    path = Path(segment.part_folder(CONTENT).path(file.path))
    path.write_bytes(path.read_bytes()[: file.bytes // 2])
    faults = check(directory).faults
    assert [fault.path for fault in faults] == [f"segments/{name}/content/{file.path}"]


def test_processes_that_share_a_crawl_leave_each_others_segments_alone(tmp_path: Path) -> None:
    directory, clock = CrawlDir(str(tmp_path / "c")), ManualClock(1_800_000_000_000)

    def shared() -> SegmentRoll:
        return SegmentRoll(directory, CONFIG, clock, parse, is_shared=True)

    first, second = shared(), shared()
    first.recover()
    name = only(first.add([page("http://a.org/")], {}))
    second.recover()
    other = only(second.add([page("http://a.org/")], {}))
    assert other > name
    second.publish()
    first.abandon()  # as if it had died
    second.publish_if_due()
    assert name in [segment.name for segment in directory.segments.open_of_service()]
    clock.advance(61)
    second.publish_if_due()
    second.close()
    assert names(directory) == [name, other]
    assert directory.segments.open_of_service() == []


def test_a_damaged_segment_that_is_locked_keeps_no_service_from_starting(tmp_path: Path) -> None:
    directory, told = CrawlDir(str(tmp_path / "c")), tmp_path / "told"
    moment = At("write", "crawl_generate/manifest.json")
    assert run_killed(fill, directory.address, str(told), at=moment)
    (name,) = names(directory)
    folder = directory.segments.segment(name).folder
    for file in ("manifest.json", "manifest.json.copy"):
        Path(folder.path(f"{GENERATE}/{file}")).write_bytes(b"{")
    recover(directory.address)
    assert check(directory).faults != []
