from __future__ import annotations

from collections.abc import Sequence
from threading import Event

import pytest

from crawl.counters import Counters
from crawl.errors import StorageError
from crawl.fetcher.output.journal import ChunkJournal
from crawl.fetcher.output.journal_writer import JournalWriter, PendingNote
from crawl.fetcher.values.item import FollowedUrl
from crawl.fetcher.values.record import FetchRecord
from crawl.model.content import Content
from crawl.storage.folder import Folder
from tests.fetcher.outputs import record


class Held(ChunkJournal):
    """Notes that are written when the test lets them."""

    def __init__(self) -> None:
        super().__init__(Folder("memory://noting"), lambda: "x", Counters(), can_grow=False)
        self.begun, self.may_go_on = Event(), Event()
        self.urls: list[list[str]] = []

    def write(
        self,
        records: Sequence[FetchRecord],
        archived: Sequence[Content],
        total: Counters,
        followed: Sequence[FollowedUrl] = (),
    ) -> None:
        self.begun.set()
        assert self.may_go_on.wait(60)
        self.urls.append([each.url for each in records])


def test_answers_may_grow_until_somebody_notes_them() -> None:
    noting, notes = JournalWriter(), Held()
    first, second, third = (PendingNote(notes, [record(number)]) for number in range(3))
    noting.put(first)
    assert notes.begun.wait(60)
    assert not noting.take_back(first)
    assert first.is_due
    noting.put(second)
    noting.put(third)
    assert not noting.take_back(second)  # a later one would be noted before it
    assert noting.take_back(third)
    assert not third.is_due
    third.records.append(record(3))
    noting.put(third)
    notes.may_go_on.set()
    assert noting._work is not None
    noting._work.result()
    urls = [[each.url for each in answers.records] for answers in (first, second, third)]
    assert notes.urls == urls
    noting.close()


def test_what_waits_at_the_end_is_not_noted() -> None:
    noting, notes = JournalWriter(), Held()
    noting.put(PendingNote(notes, [record(1)]))
    assert notes.begun.wait(60)
    noting.put(PendingNote(notes, [record(2)]))
    noting._closed.set()
    notes.may_go_on.set()
    noting.close()
    assert len(notes.urls) == 1


class Broken(Held):
    def write(
        self,
        records: Sequence[FetchRecord],
        archived: Sequence[Content],
        total: Counters,
        followed: Sequence[FollowedUrl] = (),
    ) -> None:
        raise StorageError("no space left")


def test_a_fault_is_raised_for_all_later_notes() -> None:
    noting = JournalWriter()
    noting.put(PendingNote(Broken(), [record(1)]))
    assert noting._work is not None
    with pytest.raises(StorageError, match="no space left"):
        noting._work.result()
    for number in (2, 3):
        with pytest.raises(StorageError, match="no space left"):
            noting.put(PendingNote(Broken(), [record(number)]))
    noting.close()
