"""The thread that writes answers to the journal as soon as it can: the one that writes chunks may
be busy for long, with a parse or with the disk.
"""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Event, Lock

from crawl.counters import Counters
from crawl.fetcher.output.journal import ChunkJournal
from crawl.fetcher.values.item import FollowedUrl
from crawl.fetcher.values.record import FetchRecord
from crawl.model.content import Content

_PAUSE_S = 0.005
_MAX_PAUSE_S = 0.05
"""A note is followed by a pause for each of its answers: where they come one by one, each is
written at once; where they come by the hundred, a note of each would cost more than its fetch."""


@dataclass(slots=True)
class PendingNote:
    """Answers that are written as one note."""

    journal: ChunkJournal
    records: list[FetchRecord] = field(default_factory=list)
    archived: list[Content] = field(default_factory=list)
    followed: list[FollowedUrl] = field(default_factory=list)
    """What they led to."""
    begun: float | None = None
    """When the first of them was complete."""
    total: Counters = field(default_factory=Counters)
    """What was counted up to them."""
    is_due: bool = False
    """Whether they wait to be written, are being written, or were: then none may be added."""

    @property
    def rows(self) -> int:
        return len(self.records) + len(self.archived)


class JournalWriter:
    """Writes pending notes in a thread of its own."""

    def __init__(self) -> None:
        self._due: list[PendingNote] = []
        self._lock = Lock()
        self._thread = ThreadPoolExecutor(1)
        self._work: Future[None] | None = None
        self._is_busy = False
        self._paused_until = 0.0
        self._closed = Event()

    def put(self, note: PendingNote) -> None:
        """Has the note written; raises what kept earlier ones from it."""
        with self._lock:
            note.is_due = True
            self._due.append(note)
            if self._work is not None and self._work.done():
                self._work.result()
            if not self._is_busy:
                self._is_busy = True
                self._work = self._thread.submit(self._write_due)

    def take_back(self, note: PendingNote) -> bool:
        """Takes back the note that was put last, so that it can grow; False where it is being
        written."""
        with self._lock:
            if not self._due or self._due[-1] is not note:
                return False
            self._due.pop().is_due = False
            return True

    def close(self) -> None:
        """Ends the thread; nothing more is written."""
        self._closed.set()
        self._thread.shutdown()

    # in the thread

    def _write_due(self) -> None:
        while due := self._take_due():
            for note in due:
                note.journal.write(note.records, note.archived, note.total, note.followed)
            pause = min(sum(note.rows for note in due) * _PAUSE_S, _MAX_PAUSE_S)
            self._paused_until = time.monotonic() + pause

    def _take_due(self) -> list[PendingNote]:
        pause = self._paused_until - time.monotonic()
        if pause > 0 and self._due:
            self._closed.wait(pause)
        with self._lock:
            due, self._due = self._due, []
            self._is_busy = bool(due) and not self._closed.is_set()
            return due if self._is_busy else []
