"""The journal: answers that are in no committed chunk yet, safe from the death of the task.

    SEGMENT/crawl_fetch/journal/part-00003/1f2e3d4c-000007.notes

A chunk should be large, and what it gathers must not be asked for again: so answers are noted
here on their way into it, and the notes are deleted when the chunk is committed. The task that
resumes a part commits the notes of those before it. On a local disk the notes of a chunk are
one file that grows, so that nothing has to be listed or deleted by the thousand. Object stores
and HDFS show a file when it is closed: there every note is a file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from threading import Lock
from typing import IO

from crawl.counters import Counters
from crawl.errors import StorageError
from crawl.fetcher.output.note import Note, decode_notes, encode_note
from crawl.fetcher.values.item import FollowedUrl
from crawl.fetcher.values.record import FetchRecord
from crawl.model.content import Content
from crawl.storage.folder import Folder

JOURNAL = "crawl_fetch/journal"


@dataclass(slots=True)
class ChunkJournal:
    """The notes of one chunk on their way to disk: written by one thread, ended by another."""

    folder: Folder
    new_name: Callable[[], str]
    counted_before: Counters
    can_grow: bool
    _names: list[str] = field(default_factory=list)
    _open: ExitStack = field(default_factory=ExitStack)
    _growing_file: IO[bytes] | None = None
    _has_ended: bool = False
    _lock: Lock = field(default_factory=Lock)

    def write(
        self,
        records: Sequence[FetchRecord],
        archived: Sequence[Content],
        total: Counters,
        followed: Sequence[FollowedUrl] = (),
    ) -> None:
        """Writes a note of answers, of what they led to and what was counted up to them; not
        after the end."""
        with self._lock:
            if self._has_ended:
                return
            before = self.counted_before
            since = {name: count - before[name] for name, count in total.items()}
            counters = {name: count for name, count in since.items() if count}
            self._has_ended = True  # unless all goes well: what follows half a note would join it
            self._add(Note(records, archived, counters, followed))
            self._has_ended = False
            self.counted_before = total

    def end(self) -> list[str]:
        """Ends the journal of the chunk, and returns the names of its files."""
        with self._lock:
            self._has_ended = True
            self._open.close()
            return self._names

    def _add(self, note: Note) -> None:
        if not self.can_grow:
            with self.folder.open_write(self._named(), lasting=False) as stream:
                _write(note, stream)
            return
        if self._growing_file is None:
            opened = self.folder.open_write(self._named(), lasting=False)
            self._growing_file = self._open.enter_context(opened)
        try:
            _write(note, self._growing_file)
            self._growing_file.flush()
        except OSError as error:
            raise StorageError(f"{self.folder.path(self._names[-1])}: {error}") from error

    def _named(self) -> str:
        self._names.append(self.new_name())
        return self._names[-1]


def _write(note: Note, stream: IO[bytes]) -> None:
    for piece in encode_note(note):
        stream.write(piece)


class Journal:
    """The journal of one part of a fetch list, as one task sees it."""

    def __init__(self, segment: Folder, part: int, token: str) -> None:
        self._folder = segment.child(f"{JOURNAL}/part-{part:05d}")
        self._token = token[:8]
        self._next = 0
        self.can_grow = segment.is_local()
        """Whether a file can be read while it is written."""

    def begin(self, counted_before: Counters) -> ChunkJournal:
        """Returns the journal of a new chunk; what was counted before is in earlier ones."""
        return ChunkJournal(self._folder, self._new_name, counted_before, self.can_grow)

    def uncommitted_notes(self, is_contained: Callable[[str], bool]) -> dict[str, list[Note]]:
        """The notes of earlier tasks, by file, but for files that a chunk contains."""
        names = [name for name in self._folder.names() if not is_contained(name)]
        return {name: list(decode_notes(self._folder.read(name) or b"")) for name in names}

    def delete(self, names: list[str]) -> None:
        for name in names:
            self._folder.delete(name)

    def clear(self) -> None:
        """Deletes the whole journal: the part is finished, and nobody resumes it."""
        self._folder.delete("")

    def _new_name(self) -> str:
        self._next += 1
        return f"{self._token}-{self._next:06d}.notes"
