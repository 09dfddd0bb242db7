from __future__ import annotations

import uuid
from dataclasses import replace
from pathlib import Path
from threading import Event

import pyarrow as pa
import pytest

from crawl.counters import Counters
from crawl.errors import StorageError
from crawl.fetcher.output.chunk_files import ChunkFiles
from crawl.fetcher.output.journal import ChunkJournal, Journal
from crawl.fetcher.output.segment_output import ChunkSize
from crawl.fetcher.values.item import FollowedUrl
from crawl.fetcher.values.record import FetchRecord
from crawl.model.content import Content
from crawl.model.status import Status
from crawl.storage.chunks import ChunkLog, Piece
from tests.fetcher.outputs import Made, record, url_of
from tests.fetcher.small_web import DUE


def test_what_waits_is_noted_and_a_resuming_task_commits_it(tmp_path: Path) -> None:
    made = Made(tmp_path, ChunkSize(journal_seconds=1.0))
    made.add(record(1, b"one"), record(2))
    made.clock.advance(0.9)
    made.add(record(3))
    assert made.notes() == []
    made.clock.advance(0.1)
    made.tick()
    assert made.notes() == [[url_of(1), url_of(2), url_of(3)]]
    made.add(record(4))  # never noted: it is lost with the task
    assert made.committed() == []

    after = Made(tmp_path, ChunkSize())
    fetched: set[str] = set()
    assert after.output.commit_leftovers(fetched, set())
    assert fetched == {url_of(number) for number in (1, 2, 3)}
    assert after.committed() == [[url_of(1), url_of(2), url_of(3)]]
    (chunk,) = ChunkLog(after.segment, 2).committed()
    assert chunk.counters == {"records": 3}
    assert made.read("content", chunk.pieces["content"].path) == [url_of(1)]
    assert after.files() == []
    assert not after.output.commit_leftovers(fetched, set(chunk.notes))


def test_on_a_disk_every_answer_is_noted_as_it_comes(tmp_path: Path) -> None:
    made = Made(tmp_path, ChunkSize())
    made.add(record(1, b"one"), record(2))
    assert made.notes() == [[url_of(1), url_of(2)]]
    made.add(record(3))
    made.tick()
    assert made.notes() == [[url_of(1), url_of(2)], [url_of(3)]]
    assert len(made.files()) == 1


def test_on_a_store_answers_are_noted_every_second() -> None:
    made = Made(f"memory://{uuid.uuid4().hex}", ChunkSize())
    for number in range(4):
        made.add(record(number))
        made.clock.advance(0.4)
    assert made.notes() == [[url_of(number) for number in range(4)]]
    made.add(record(4))
    assert len(made.notes()) == 1
    eager = Made(f"memory://{uuid.uuid4().hex}", ChunkSize(journal_seconds=0.1))
    eager.add(record(0))
    eager.clock.advance(0.1)
    eager.add(record(1))
    assert len(eager.notes()) == 1


def test_answers_that_come_while_one_is_noted_are_noted_together_without_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody calls for it: no others may come for long."""
    met, may_go_on = Event(), Event()
    write = ChunkJournal.write

    def slow(
        self: ChunkJournal,
        records: list[FetchRecord],
        archived: list[Content],
        total: Counters,
        followed: list[FollowedUrl],
    ) -> None:
        met.set()
        assert may_go_on.wait(60)
        write(self, records, archived, total, followed)

    monkeypatch.setattr(ChunkJournal, "write", slow)
    made = Made(tmp_path, ChunkSize())
    made.add(record(0))
    assert met.wait(60)
    for number in range(1, 4):
        made.add(record(number))
    may_go_on.set()
    assert made.notes() == [[url_of(0)], [url_of(1), url_of(2), url_of(3)]]
    made.output.close()
    assert made.committed() == [[url_of(number) for number in range(4)]]
    assert made.marked()[0].counters == {"records": 4}


def test_answers_are_noted_while_a_chunk_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_go_on = Event()
    finish = ChunkFiles.finish

    def slow(self: ChunkFiles) -> dict[str, Piece]:
        assert may_go_on.wait(60)
        return finish(self)

    monkeypatch.setattr(ChunkFiles, "finish", slow)
    made = Made(tmp_path, ChunkSize(records=2))
    for number in range(3):
        made.add(record(number))
        noting = made.output._journal_writer._work
        assert noting is not None
        noting.result()
    left = Journal(made.segment, 2, "another").uncommitted_notes(lambda name: False)
    noted = [each.url for notes in left.values() for note in notes for each in note.records]
    assert noted == [url_of(number) for number in range(3)]
    may_go_on.set()
    assert made.committed() == [[url_of(0), url_of(1)]]
    assert made.notes() == [[url_of(2)]]


def test_an_error_of_the_journal_is_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(
        self: ChunkJournal,
        records: list[FetchRecord],
        archived: list[Content],
        total: Counters,
        followed: list[FollowedUrl],
    ) -> None:
        raise StorageError("no space left")

    monkeypatch.setattr(ChunkJournal, "write", full)
    made = Made(tmp_path, ChunkSize())
    made.add(record(1))
    with pytest.raises(StorageError, match="no space left"):
        made.settle()
    with pytest.raises(StorageError, match="no space left"):
        made.add(record(2))


def test_many_notes_are_taken_over_in_batches(tmp_path: Path) -> None:
    made = Made(tmp_path, ChunkSize())
    notes = made.output._chunk.journal
    for number in range(600):
        notes.write([record(number, b"x")], [], Counters(records=number + 1))
    after = Made(tmp_path, ChunkSize())
    fetched: set[str] = set()
    assert after.output.commit_leftovers(fetched, set())
    assert len(fetched) == 600
    (chunk,) = after.marked()
    assert chunk.counters == {"records": 600}
    assert chunk.pieces["content"].rows == chunk.pieces["crawl_fetch"].rows == 600
    assert sorted(after.read("content", chunk.pieces["content"].path)) == sorted(fetched)


def test_a_batch_that_cannot_be_written_keeps_its_notes(tmp_path: Path) -> None:
    made = Made(tmp_path, ChunkSize(records=2))
    made.add(record(1, b"one"))
    assert made.notes() == [[url_of(1)]]
    unwritable = replace(DUE, fetch_interval=2**40)
    with pytest.raises(pa.ArrowInvalid):
        made.add(FetchRecord(url_of(2), "a.org", unwritable))
    with pytest.raises(pa.ArrowInvalid):
        made.tick()
    assert made.marked() == []
    assert [url_of(1)] in made.notes()


def test_a_chunk_takes_its_notes_with_it(tmp_path: Path) -> None:
    made = Made(tmp_path, ChunkSize(records=4))
    for number in range(3):
        made.add(record(number))
        made.settle()
    assert len(made.notes()) == 3
    made.add(record(3))
    assert made.committed() == [[url_of(number) for number in range(4)]]
    assert made.files() == []
    (chunk,) = made.marked()
    assert len(chunk.notes) == 1
    assert chunk.counters == {"records": 4}


def test_a_note_that_a_chunk_contains_is_not_taken_again(tmp_path: Path) -> None:
    """Its writer died between the commit and the deletion."""
    made = Made(tmp_path, ChunkSize())
    made.add(record(1))
    made.settle()
    (path,) = tmp_path.rglob("*.notes")
    data = path.read_bytes()
    made.output.close()
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    after = Made(tmp_path, ChunkSize())
    (chunk,) = after.log.committed()
    assert not after.output.commit_leftovers({url_of(1)}, set(chunk.notes))
    assert len(after.committed()) == 1


def test_nothing_of_a_note_with_a_page_that_has_a_record_is_taken(tmp_path: Path) -> None:
    made = Made(tmp_path, ChunkSize())
    made.add(record(1), record(2))
    made.settle()
    after = Made(tmp_path, ChunkSize())
    fetched = {url_of(2)}
    assert not after.output.commit_leftovers(fetched, set())
    assert fetched == {url_of(2)}
    assert after.committed() == []
    assert after.files() == []


def test_targets_left_for_later_are_no_pages_of_a_note(tmp_path: Path) -> None:
    made = Made(tmp_path, ChunkSize())
    target = replace(DUE, status=Status.LINKED)
    made.add(record(1), FetchRecord(url_of(2), "a.org", target))
    made.settle()
    fetched = {url_of(2)}
    assert Made(tmp_path, ChunkSize()).output.commit_leftovers(fetched, set())
    assert fetched == {url_of(1), url_of(2)}


def test_without_a_journal_nothing_is_noted(tmp_path: Path) -> None:
    made = Made(tmp_path, ChunkSize(journal_seconds=-1))
    made.add(record(1))
    made.clock.advance(200)
    made.tick()
    assert made.notes() == []
    made.output.close()
    assert made.committed() == [[url_of(1)]]


def test_while_chunks_fill_at_once_nothing_is_noted_and_a_lull_commits_what_was_not(
    tmp_path: Path,
) -> None:
    made = Made(tmp_path, ChunkSize(records=1000))
    made.add(*(record(number) for number in range(1000)))
    assert [len(chunk) for chunk in made.committed()] == [1000]
    made.add(*(record(number) for number in range(1000, 1270)))
    assert made.files() == []
    made.add(record(1270))
    made.clock.advance(1.0)
    made.tick()
    assert [len(chunk) for chunk in made.committed()] == [1000, 271]
    made.add(*(record(number) for number in range(2000, 2270)))
    assert len(made.notes()) == 1  # slow by now
    made.output.close()
    assert [len(chunk) for chunk in made.committed()] == [1000, 271, 270]


def test_the_first_chunk_is_noted_until_it_is_known_to_be_quick(tmp_path: Path) -> None:
    made = Made(tmp_path, ChunkSize(records=5000))
    for number in range(0, 3000, 300):
        made.add(*(record(each) for each in range(number, number + 300)))
        made.clock.advance(0.05)
    assert sum(len(note) for note in made.notes()) == 1200
    assert made.committed() == []


def test_a_quick_fetch_is_committed_every_second_rather_than_noted(tmp_path: Path) -> None:
    made = Made(tmp_path, ChunkSize())
    for number in range(0, 9600, 400):  # 3,200 in a second
        made.add(*(record(each) for each in range(number, number + 400)))
        made.settle()
        made.clock.advance(0.125)
    assert [len(chunk) for chunk in made.committed()] == [3600, 3600]
    assert made.files() == []
    made.output.close()


def test_it_is_noted_again_when_it_slows_down(tmp_path: Path) -> None:
    made = Made(tmp_path, ChunkSize())
    for number in range(0, 6000, 300):  # 1,200 in a second, at the beginning all at once
        made.add(*(record(each) for each in range(number, number + 300)))
        made.settle()
        made.clock.advance(0.25 if number >= 2400 else 0.0)
    assert [len(chunk) for chunk in made.committed()] == [3900, 1500]
    assert sum(map(len, made.notes())) == 600
    made.output.close()


def test_where_commits_take_long_a_quick_fetch_is_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Made(tmp_path, ChunkSize())
    finish = ChunkFiles.finish

    def slowly(files: ChunkFiles) -> dict[str, Piece]:
        made.clock.advance(0.3)
        return finish(files)

    monkeypatch.setattr(ChunkFiles, "finish", slowly)
    for number in range(0, 12_000, 400):  # 3,200 in a second
        made.add(*(record(each) for each in range(number, number + 400)))
        made.settle()
        made.clock.advance(0.125)
    first, second = made.committed()  # that the first takes long is known when the second ends
    assert sum(map(len, made.notes())) == 12_000 - len(first) - len(second)
    made.output.close()


def test_small_chunks_are_noted_however_soon_they_are_full(tmp_path: Path) -> None:
    made = Made(tmp_path, ChunkSize(records=10))
    for number in range(25):
        made.add(record(number))
    assert [len(chunk) for chunk in made.committed()] == [10, 10]
    assert [url for note in made.notes() for url in note] == [
        url_of(each) for each in range(20, 25)
    ]


def test_of_a_fast_fetch_no_answer_waits_for_longer_than_a_second(tmp_path: Path) -> None:
    made = Made(tmp_path, ChunkSize(records=1000))
    made.add(*(record(number) for number in range(1000)))
    made.add(record(1000))
    made.clock.advance(0.9)
    made.tick()
    assert [len(chunk) for chunk in made.committed()] == [1000]
    assert made.files() == []
    made.clock.advance(0.1)
    made.tick()
    assert [len(chunk) for chunk in made.committed()] == [1000, 1]
