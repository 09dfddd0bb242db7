"""Segments on a disk that takes nothing for a while: no answer is lost, and all are published in
the end."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest

from crawl.errors import StorageError
from crawl.fetcher.output import journal
from crawl.fetcher.values.record import FetchRecord
from crawl.model.status import Status
from crawl.service.open_places import PlaceLost
from crawl.service.patience import Patience
from crawl.service.segments.roll import SegmentRoll
from crawl.service.segments.writer import unpublished
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.folder import Folder
from crawl.testing.clock import ManualClock
from tests.phases.webs import fetched
from tests.service.rolling import CONFIG, page, parse, parses_of, recover
from tests.service.segments.test_roll import assert_published_whole

A, B, C = (f"http://{host}.org/" for host in "abc")


class Disk:
    """Has room or not; of what it has no room for, a part may be written."""

    def __init__(self) -> None:
        self.is_full = False
        self.pauses = 0
        self.room_after = 3

    def require_room(self) -> None:
        if self.is_full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def pause(self, seconds: float) -> bool:
        """Stands for the wait of patient threads, after some of which there is room."""
        self.pauses += 1
        self.is_full = self.pauses < self.room_after
        return False


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    disk = Disk()
    write_note, open_write = journal._write, Folder.open_write

    def torn_note(note: Any, stream: IO[bytes]) -> None:
        if disk.is_full:
            stream.write(b"half a note")
        disk.require_room()
        write_note(note, stream)

    @contextmanager
    def opened(self: Folder, name: str, **how: bool) -> Iterator[IO[bytes]]:
        with self._naming_file(name):
            disk.require_room()
        with open_write(self, name, **how) as stream:
            yield stream

    def small(write: Callable[..., Any]) -> Callable[..., Any]:
        def written(self: Folder, name: str, data: bytes) -> Any:
            with self._naming_file(name):
                disk.require_room()
            return write(self, name, data)

        return written

    monkeypatch.setattr(journal, "_write", torn_note)
    monkeypatch.setattr(Folder, "open_write", opened)
    monkeypatch.setattr(Folder, "write", small(Folder.write))
    monkeypatch.setattr(Folder, "create", small(Folder.create))
    return disk


@pytest.fixture
def directory(tmp_path: Path) -> CrawlDir:
    return CrawlDir(str(tmp_path / "crawl"))


class Rolling:
    """A roll whose thread waits."""

    def __init__(self, directory: CrawlDir, disk: Disk) -> None:
        self.clock = ManualClock(1_800_000_000_000)
        self.patience = Patience(self.clock, disk.pause)
        self.place_is_lost = False
        self.roll = SegmentRoll(
            *(directory, CONFIG, self.clock, parse),
            patience=self.patience,
            require_place=self._require_place,
        )

    def _require_place(self) -> None:
        if self.place_is_lost:
            raise PlaceLost("it was moved away")

    def add(self, *records: FetchRecord) -> str:
        with self.patience.patience():
            (name,) = set(self.roll.add(records, parses_of(records)).values())
        return name

    def later(self) -> None:
        """A turn of the finisher, some seconds later."""
        self.clock.advance(10)
        with self.patience.patience():
            self.roll.publish_if_due()


@pytest.fixture
def rolling(directory: CrawlDir, disk: Disk) -> Rolling:
    return Rolling(directory, disk)


def published(directory: CrawlDir) -> dict[str, set[str]]:
    """The URLs of all published segments, which are whole, with nothing left beside them."""
    assert_published_whole(directory)
    return {
        segment.name: {url for url, _ in fetched(directory, segment.name)}
        for segment in directory.segments.generated()
    }


def test_an_answer_waits_for_room_and_goes_to_the_next_segment(
    rolling: Rolling, directory: CrawlDir, disk: Disk
) -> None:
    first = rolling.add(page(A))
    disk.is_full = True
    second = rolling.add(page(B), page(C, status=Status.FETCH_GONE))
    assert second != first and disk.pauses == disk.room_after
    assert not rolling.patience.is_waiting
    assert unpublished(directory) == [first, second], "nothing is left of those in between"
    rolling.later()
    rolling.roll.close()
    recover(directory.address)
    assert published(directory) == {first: {A}, second: {B, C}}


def test_a_segment_that_cannot_be_written_is_published_by_the_next_start(
    rolling: Rolling, directory: CrawlDir, disk: Disk
) -> None:
    first = rolling.add(page(A), page(B))
    disk.is_full = True
    rolling.roll.publish()
    for _ in range(3):
        rolling.roll._background.wait()
        rolling.later()
        assert unpublished(directory) == [first]
    disk.is_full = False
    second = rolling.add(page(A, "again"))
    rolling.later()
    rolling.roll.close()
    recover(directory.address)
    assert published(directory) == {first: {A, B}, second: {A}}


def test_what_it_cannot_publish_at_its_end_is_left_to_the_next(
    rolling: Rolling, directory: CrawlDir, disk: Disk
) -> None:
    first = rolling.add(page(A))
    disk.is_full = True
    rolling.roll.close()
    disk.is_full = False
    assert unpublished(directory) == [first]
    recover(directory.address)
    assert published(directory) == {first: {A}}


def test_who_does_not_wait_is_told(rolling: Rolling, directory: CrawlDir, disk: Disk) -> None:
    disk.is_full = True
    with pytest.raises(StorageError, match="No space left"):
        rolling.roll.add([page(A)], {})
    assert unpublished(directory) == []
    disk.is_full = False
    rolling.add(page(A))
    rolling.roll.close()


def test_nothing_is_written_where_its_folder_was(
    rolling: Rolling, directory: CrawlDir, disk: Disk
) -> None:
    first = rolling.add(page(A))
    rolling.place_is_lost = True
    with pytest.raises(PlaceLost):
        rolling.add(page(B))
    with pytest.raises(PlaceLost):
        rolling.roll.close()
    rolling.roll.abandon()
    assert not disk.pauses, "no time brings it back"
    assert unpublished(directory) == [first]
    recover(directory.address)
    assert published(directory) == {first: {A}}
