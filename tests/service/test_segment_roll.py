"""Segments of the service: closed when they are due, whole whatever dies, read by all others."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from crawl.clock import SystemClock
from crawl.errors import Locked
from crawl.fetcher.output.journal import JOURNAL
from crawl.model.status import Status
from crawl.phases.generate import run as generate
from crawl.phases.generate.options import GenerateOptions
from crawl.phases.updatedb import run as updatedb
from crawl.phases.updatedb.options import UpdateDbOptions
from crawl.readers.status.segments import LEFT_OPEN, segments_status
from crawl.rounds.state import segment_states
from crawl.rounds.steps import Stage
from crawl.service.segment_roll import SegmentRoll
from crawl.storage.checking import check
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.lock import LOCK_NAME
from crawl.storage.segments import CONTENT, FETCH, GENERATE, PARSE_TEXT, is_of_service
from crawl.tables.runner import InProcess
from crawl.testing.clock import ManualClock
from tests.phases.fetched import parse_rows, stray_files
from tests.phases.killed import At, moments, run_killed, writes_of
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


def names(directory: CrawlDir) -> list[str]:
    return [segment.name for segment in directory.segments.generated()]


def assert_whole(directory: CrawlDir, told: Path) -> None:
    """All that was stored is in published segments, parsed, and the CrawlDb takes it."""
    wanted = told.read_text().split() if told.exists() else []
    assert directory.segments.open_of_service() == []
    found: Counter[str] = Counter()
    for name in names(directory):
        segment = directory.segments.segment(name)
        rows = fetched(directory, name)
        assert len({url for url, _ in rows}) == len(rows), "a segment has one row of each URL"
        found.update(url for url, _ in rows)
        pages = {url for url, datum in rows if datum.status is Status.FETCH_SUCCESS}
        assert set(contents(directory, name)) == pages
        assert {row["url"] for row in parse_rows(segment, PARSE_TEXT)} == pages
        assert stray_files(segment) == []
        assert not segment.folder.exists(LOCK_NAME)
        assert not segment.folder.child(JOURNAL).names()
    checked = check(directory)
    assert (checked.faults, checked.leftovers) == ([], [])
    assert set(wanted) <= set(found)
    if not found:
        return
    updatedb.run(InProcess(), directory, CONFIG, UpdateDbOptions(), SystemClock())
    statuses = {url: record.status for url, record in records_of(directory).items()}
    for url in found:
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
    second = roll.add(records, parses_of(records))
    assert due(roll) == 60.0
    records = [page("http://b.org/", "x" * 3000)]
    assert roll.add(records, parses_of(records)) == second
    assert due(roll) == 0.0
    roll.publish_if_due()
    roll.close()
    first, last = names(directory)
    assert first < last == second
    assert is_of_service(first) and is_of_service(last)


def test_a_second_answer_begins_the_next_segment(tmp_path: Path) -> None:
    directory = CrawlDir(str(tmp_path / "c"))
    roll = roll_of(directory)
    first = roll.add([page("http://a.org/", status=Status.FETCH_RETRY)], {})
    second = roll.add([page("http://a.org/")], {})
    roll.close()
    assert [first, second] == names(directory)
    updatedb.run(InProcess(), directory, CONFIG, UpdateDbOptions(), SystemClock())
    record = records_of(directory)["http://a.org/"]
    assert (record.status, record.retries) == (Status.DB_FETCHED, 0)


def test_an_open_segment_is_nobodys_business(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    directory, clock = CrawlDir(str(tmp_path / "c")), SystemClock()
    roll = roll_of(directory)
    roll.add([page("http://a.org/")], {})
    roll.publish()
    opened = roll.add([page("http://b.org/")], {})
    eventually(lambda: names(directory) != [])
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


@pytest.mark.slow(seconds=60)
@pytest.mark.exhaustive
def test_killed_at_its_writes(tmp_path: Path) -> None:
    """At every kind of write, and once more while the next start makes it whole."""
    writes = writes_of(fill, str(tmp_path / "whole"), str(tmp_path / "whole.told"))
    assert_whole(CrawlDir(str(tmp_path / "whole")), tmp_path / "whole.told")
    chance = random.Random(1)
    for number, moment in enumerate(moments(writes, 1)):
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
        name = roll.add([page(url) for url in added(number)], {})
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
    name = roll.add(records, parses_of(records))
    roll.close()
    segment = directory.segments.segment(name)
    (file,) = segment.require(CONTENT).files
    path = Path(segment.part_folder(CONTENT).path(file.path))
    path.write_bytes(path.read_bytes()[: file.bytes // 2])
    faults = check(directory).faults
    assert [fault.path for fault in faults] == [f"segments/{name}/content/{file.path}"]


@pytest.mark.parametrize(
    "moment",
    [
        At("write", f"{GENERATE}/manifest.json.copy"),
        At("write", f"{GENERATE}/manifest.json"),
        At("delete", JOURNAL + "*"),
    ],
)
def test_what_the_death_after_a_publication_leaves_is_tidied_up(tmp_path: Path, moment: At) -> None:
    directory, told = CrawlDir(str(tmp_path / "c")), tmp_path / "told"
    assert run_killed(fill, directory.address, str(told), at=moment)
    recover(directory.address)
    assert_whole(directory, told)


def test_processes_that_share_a_crawl_leave_each_others_segments_alone(tmp_path: Path) -> None:
    directory, clock = CrawlDir(str(tmp_path / "c")), ManualClock(1_800_000_000_000)

    def shared() -> SegmentRoll:
        return SegmentRoll(directory, CONFIG, clock, parse, is_shared=True)

    first, second = shared(), shared()
    first.recover()
    name = first.add([page("http://a.org/")], {})
    second.recover()
    other = second.add([page("http://a.org/")], {})
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
