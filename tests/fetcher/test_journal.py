from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from crawl.fetcher.journal import Journal, Note
from crawl.storage.folder import Folder

PAGES = pa.table({"url": ["http://a.org/1", "http://a.org/2"], "body": [b"x" * 500, b""]})
LINKS = pa.table({"to": pa.array([], pa.string())})
TABLES = {"content": PAGES, "links": LINKS}
COUNTERS = {"records": 2, "bytes": 500}


def left(folder: Folder, contained: tuple[str, ...] = ()) -> list[Note]:
    return Journal(folder, 3, "another").left(contained.__contains__)


def test_notes_are_read_as_they_were_written(tmp_path: Path) -> None:
    folder = Folder(str(tmp_path))
    journal = Journal(folder, 3, "0123456789")
    names = [journal.write(TABLES, COUNTERS), journal.write({"content": PAGES}, {})]
    assert left(folder) == [
        Note(names[0], TABLES, COUNTERS),
        Note(names[1], {"content": PAGES}, {}),
    ]
    assert left(Folder(str(tmp_path / "none"))) == []
    assert Journal(folder, 4, "another").left(lambda name: False) == []


def test_tasks_of_one_part_do_not_write_over_each_other(tmp_path: Path) -> None:
    folder = Folder(str(tmp_path))
    names = {Journal(folder, 3, token).write(TABLES, {}) for token in ("a" * 32, "b" * 32)}
    assert {note.name for note in left(folder)} == names
    assert len(names) == 2


def test_what_a_chunk_contains_and_what_is_deleted_is_not_left(tmp_path: Path) -> None:
    folder = Folder(str(tmp_path))
    journal = Journal(folder, 3, "me")
    names = [journal.write(TABLES, COUNTERS) for _ in range(3)]
    journal.delete(names[:1])
    assert [note.name for note in left(folder, (names[1],))] == names[2:]
    journal.clear()
    assert left(folder) == []


@pytest.mark.parametrize("kept", [0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 0.999])
def test_a_note_that_its_writer_died_in_is_none(tmp_path: Path, kept: float) -> None:
    folder = Folder(str(tmp_path))
    journal = Journal(folder, 3, "me")
    whole = journal.write({"content": PAGES, "more": PAGES}, COUNTERS)
    torn = journal.write({"content": PAGES, "more": PAGES}, COUNTERS)
    (path,) = tmp_path.rglob(torn)
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * kept)])
    found = left(folder)
    assert found[0].name == whole
    # the marks of the streams' ends may be missing, no row may
    assert all(note.tables["more"].equals(PAGES) for note in found)


@pytest.mark.parametrize("text", [b"", b"\0" * 100, b"{}", b"\xff\xff\xff\xff" + b"\0" * 4])
def test_what_is_no_note_is_passed_over(tmp_path: Path, text: bytes) -> None:
    folder = Folder(str(tmp_path))
    folder.write("crawl_fetch/journal/part-00003/x.arrow", text)
    assert left(folder) == []
