from __future__ import annotations

import errno
import io
import uuid
from pathlib import Path

import pytest

from crawl.counters import Counters
from crawl.errors import StorageError
from crawl.fetcher.output.journal import ChunkJournal, Journal
from crawl.fetcher.output.note import Note, encode_note
from crawl.model.content import Content
from crawl.storage.folder import Folder
from tests.fetcher.outputs import record

PAGES = [record(1, b"x" * 500), record(2)]
ROBOTS = Content("http://a.org/robots.txt", b"Disallow:")


@pytest.fixture(params=["disk", "store"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Folder:
    """A folder on a file system whose files can grow, and one on a store where they cannot."""
    return Folder(str(tmp_path) if request.param == "disk" else f"memory://{uuid.uuid4().hex}")


def begun(
    folder: Folder, token: str = "0123456789", counters: Counters | None = None
) -> ChunkJournal:
    return Journal(folder, 3, token).begin(counters or Counters())


def left(folder: Folder, contained: tuple[str, ...] = ()) -> list[Note]:
    found = Journal(folder, 3, "another").uncommitted_notes(contained.__contains__)
    return [note for notes in found.values() for note in notes]


def files(folder: Folder) -> list[str]:
    return folder.names("crawl_fetch/journal/part-00003")


def test_notes_are_read_as_they_were_written_while_more_may_come(folder: Folder) -> None:
    notes = begun(folder, counters=Counters(records=5, requests=7))
    notes.write(PAGES, [], Counters(records=7, requests=7, bytes=500))
    notes.write(PAGES[:1], [ROBOTS], Counters(records=7, requests=8, bytes=500))
    assert left(folder) == [
        Note(PAGES, [], {"records": 2, "bytes": 500}),
        Note(PAGES[:1], [ROBOTS], {"requests": 1}),
    ]
    assert Journal(folder, 4, "another").uncommitted_notes(lambda name: False) == {}


def test_on_a_disk_the_notes_of_a_chunk_are_one_file(tmp_path: Path) -> None:
    folder = Folder(str(tmp_path))
    journal = Journal(folder, 3, "me")
    for _ in range(2):
        notes = journal.begin(Counters())
        for _ in range(100):
            notes.write(PAGES, [], Counters())
    assert len(files(folder)) == 2
    assert len(left(folder)) == 200


def test_tasks_of_one_part_do_not_write_over_each_other(folder: Folder) -> None:
    for token in ("a" * 32, "b" * 32):
        begun(folder, token).write(PAGES, [], Counters())
    assert len(left(folder)) == len(files(folder)) == 2


def test_what_a_chunk_contains_and_what_is_deleted_is_not_left(folder: Folder) -> None:
    journal = Journal(folder, 3, "me")
    ended = []
    for _ in range(3):
        notes = journal.begin(Counters())
        notes.write(PAGES, [], Counters())
        ended.append(notes.end())
    journal.delete(ended[0])
    found = Journal(folder, 3, "another").uncommitted_notes(ended[1].__contains__)
    assert [list(found)] == ended[2:]
    journal.clear()
    assert left(folder) == []


def test_nothing_is_noted_after_the_end(folder: Folder) -> None:
    notes = begun(folder)
    notes.write(PAGES, [], Counters())
    names = notes.end()
    notes.write(PAGES, [], Counters())
    assert notes.end() == names == files(folder)
    assert len(left(folder)) == 1
    never = begun(folder, "never")
    assert never.end() == []
    never.write(PAGES, [], Counters())
    assert files(folder) == names


@pytest.mark.parametrize("kept", [0, 1, 7, 8, 9, 100, 600, 1_000])
def test_a_note_that_its_writer_died_in_is_none(folder: Folder, kept: int) -> None:
    notes = begun(folder)
    for number in range(3):
        notes.write(PAGES, [], Counters(number=number))
    name = notes.end()[-1]
    place = folder.child("crawl_fetch/journal/part-00003")
    data = place.read(name) or b""
    last = b"".join(encode_note(Note(PAGES, [], {"number": 1})))
    assert len(last) > kept
    place.write(name, data[: len(data) - len(last) + kept])
    assert [note.records for note in left(folder)] == [PAGES] * 2


class Full(io.BytesIO):
    """A file on a disk without room."""

    def write(self, data: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_is_an_error_and_nothing_more_is_noted(tmp_path: Path) -> None:
    folder = Folder(str(tmp_path))
    notes = begun(folder)
    notes.write(PAGES, [], Counters())
    grows, notes._growing_file = notes._growing_file, Full()
    with pytest.raises(StorageError, match=r"part-00003/01234567-000001.notes: .*No space left"):
        notes.write(PAGES, [], Counters())
    notes._growing_file = grows
    notes.write(PAGES, [], Counters())
    assert len(left(folder)) == 1
