"""Answers between two chunks, safe from a death.

    SEGMENT/crawl_fetch/journal/part-00003/1f2e3d4c-000007.notes

A chunk wants to be large, and what it gathers must not be asked for again: so answers are
noted here on their way into it, and deleted when the chunk is committed. Whoever goes on
with a part takes the notes of those before it. On a local disk the notes of a chunk are
one file that grows, and nothing is to be listed or deleted by the thousand. Object stores
and HDFS show a file when it is closed: there every note is a file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from threading import Lock
from typing import IO

from crawl.counters import Counters
from crawl.errors import StorageError
from crawl.fetcher.output.note import Note, decoded, pieces
from crawl.fetcher.values.item import FollowedUrl
from crawl.fetcher.values.record import FetchRecord
from crawl.model.content import Content
from crawl.storage.folder import Folder

JOURNAL = "crawl_fetch/journal"


class ChunkJournal:
    """Those of one chunk, on their way to disk: written by one thread, ended by another."""

    def __init__(
        self, folder: Folder, new_name: Callable[[], str], told: Counters, *, can_grow: bool
    ) -> None:
        self._folder = folder
        self._new_name = new_name
        self._told = told
        self._can_grow = can_grow
        self._names: list[str] = []
        self._open = ExitStack()
        self._grows: IO[bytes] | None = None
        self._ended = False
        self._turn = Lock()

    def write(
        self,
        records: Sequence[FetchRecord],
        archived: Sequence[Content],
        total: Counters,
        followed: Sequence[FollowedUrl] = (),
    ) -> None:
        """Notes answers, what they led to and what was counted up to them; not after the end."""
        with self._turn:
            if self._ended:
                return
            told = self._told
            since = {name: count - told[name] for name, count in total.items()}
            counters = {name: count for name, count in since.items() if count}
            self._ended = True  # unless all goes well: what follows half a note would join it
            self._add(Note(records, archived, counters, followed))
            self._ended = False
            self._told = total

    def end(self) -> list[str]:
        """Nothing more is noted; the files with what was."""
        with self._turn:
            self._ended = True
            self._open.close()
            return self._names

    def _add(self, note: Note) -> None:
        if not self._can_grow:
            with self._folder.open_write(self._named(), lasting=False) as stream:
                _write(note, stream)
            return
        if self._grows is None:
            opened = self._folder.open_write(self._named(), lasting=False)
            self._grows = self._open.enter_context(opened)
        try:
            _write(note, self._grows)
            self._grows.flush()
        except OSError as error:
            raise StorageError(f"{self._folder.path(self._names[-1])}: {error}") from error

    def _named(self) -> str:
        self._names.append(self._new_name())
        return self._names[-1]


def _write(note: Note, stream: IO[bytes]) -> None:
    for piece in pieces(note):
        stream.write(piece)


class Journal:
    """The notes of one part of a fetch list, as one task sees them."""

    def __init__(self, segment: Folder, part: int, token: str) -> None:
        self._folder = segment.child(f"{JOURNAL}/part-{part:05d}")
        self._token = token[:8]
        self._next = 0
        self.can_grow = segment.is_local()
        """Whether a file can be read while it is written."""

    def begin(self, told: Counters) -> ChunkJournal:
        """For a new chunk; what was counted up to it is in those before."""
        return ChunkJournal(self._folder, self._new_name, told, can_grow=self.can_grow)

    def left(self, is_contained: Callable[[str], bool]) -> dict[str, list[Note]]:
        """The notes of those before, by file, but for files that a chunk contains."""
        names = [name for name in self._folder.names() if not is_contained(name)]
        return {name: list(decoded(self._folder.read(name) or b"")) for name in names}

    def delete(self, names: list[str]) -> None:
        for name in names:
            self._folder.delete(name)

    def clear(self) -> None:
        """The part is finished: nobody goes on with it."""
        self._folder.delete("")

    def _new_name(self) -> str:
        self._next += 1
        return f"{self._token}-{self._next:06d}.notes"
