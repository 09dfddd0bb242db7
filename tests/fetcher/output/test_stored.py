"""Who waits for a record to be durable is told when its chunk is committed, and not before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from crawl.errors import StorageError
from crawl.fetcher.output.segment_output import ChunkSize
from crawl.model.status import Status
from crawl.storage.chunks import Chunk, ChunkLog
from tests.fetcher.outputs import Made, record, url_of
from tests.fetcher.small_web import DUE


class Told:
    """Notes what is said to be stored, and how many chunks were committed by then."""

    def __init__(self, made: Made) -> None:
        self.urls: list[str] = []
        self.chunks: list[int] = []
        self._made = made
        made.output.on_stored = self

    def __call__(self, urls: Sequence[str]) -> None:
        self.urls += urls
        self.chunks.append(len(ChunkLog(self._made.segment, 2).committed()))


def test_urls_are_told_of_when_their_chunk_is_committed(tmp_path: Path) -> None:
    made = Made(tmp_path, ChunkSize(records=3))
    told = Told(made)
    made.add(record(1, b"one"), record(2))
    made.settle()
    assert made.notes() == [[url_of(1), url_of(2)]]
    assert told.urls == [], "a note outlives the process, and not the machine"
    made.add(record(3))
    made.settle()
    assert (told.urls, told.chunks) == ([url_of(1), url_of(2), url_of(3)], [1])
    made.add(record(4))
    made.output.close()
    assert (told.urls[3:], told.chunks) == ([url_of(4)], [1, 2])


def test_each_record_of_a_url_is_told_of_and_a_link_is_not(tmp_path: Path) -> None:
    made = Made(tmp_path, ChunkSize())
    told = Told(made)
    link = replace(record(9), datum=replace(DUE, status=Status.LINKED))
    made.add(record(1), link, record(1, b"again"))
    made.output.close()
    assert told.urls == [url_of(1), url_of(1)]


def test_a_commit_that_fails_is_not_told_of_and_not_kept_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Made(tmp_path, ChunkSize(records=1))
    told = Told(made)

    def fail(log: ChunkLog, chunk: Chunk) -> None:
        raise StorageError("disk full")

    monkeypatch.setattr(ChunkLog, "commit", fail)
    made.add(record(1))
    with pytest.raises(StorageError):
        made.settle()
    assert told.urls == []
    with pytest.raises(StorageError, match="disk full"):
        made.output.commit_due()


def test_what_a_dead_task_had_noted_is_told_of_by_the_next(tmp_path: Path) -> None:
    before = Made(tmp_path, ChunkSize())
    before.add(record(1, b"one"), record(2))
    before.settle()
    after = Made(tmp_path, ChunkSize())
    told = Told(after)
    assert after.output.commit_leftovers(set(), set())
    assert (told.urls, told.chunks) == ([url_of(1), url_of(2)], [1])


class TestCommitDue:
    def test_nothing_is_due_where_nothing_waits(self, tmp_path: Path) -> None:
        made = Made(tmp_path, ChunkSize())
        assert made.output.commit_due() is None
        made.add(record(1))
        made.output.flush()
        made.settle()
        assert made.output.commit_due() is None

    def test_a_chunk_is_due_when_it_is_old_enough(self, tmp_path: Path) -> None:
        made = Made(tmp_path, ChunkSize(seconds=30.0))
        told = Told(made)
        made.clock.advance(5.0)
        made.add(record(1))
        assert made.output.commit_due() == 35.0
        made.clock.advance(29.0)
        made.tick()
        made.settle()
        assert told.urls == []
        due = made.output.commit_due()
        assert due is not None
        made.clock.advance(due - made.clock.monotonic())
        made.tick()
        made.settle()
        assert told.urls == [url_of(1)]

    def test_a_note_is_due_before_its_chunk(self, tmp_path: Path) -> None:
        made = Made(tmp_path, ChunkSize(seconds=30.0, journal_seconds=2.0))
        made.add(record(1))
        assert made.output.commit_due() == 2.0
        made.clock.advance(2.0)
        made.tick()
        assert made.notes() == [[url_of(1)]]
        assert made.output.commit_due() == 30.0

    def test_what_was_added_since_the_last_commit_point_is_due_at_once(
        self, tmp_path: Path
    ) -> None:
        made = Made(tmp_path, ChunkSize(seconds=0.0))
        made.output.add(record(1))
        assert made.output.commit_due() == 0.0
