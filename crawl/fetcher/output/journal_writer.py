"""Answers are noted in the journal by a thread of its own, as soon as it can: the one that
writes chunks may be busy for long, with a parse or with the disk.
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

_REST_S = 0.005
_LONGEST_REST_S = 0.05
"""A note is followed by a rest for each of its answers: where they come one by one, each is
noted at once; where they come by the hundred, a note of each would cost more than its fetch."""


@dataclass(slots=True)
class PendingNote:
    """What is noted together."""

    notes: ChunkJournal
    records: list[FetchRecord] = field(default_factory=list)
    archived: list[Content] = field(default_factory=list)
    followed: list[FollowedUrl] = field(default_factory=list)
    """What they led to."""
    begun: float | None = None
    """When the first of them were whole."""
    total: Counters = field(default_factory=Counters)
    """What was counted up to them."""
    is_due: bool = False
    """They wait to be noted, or are being noted, or were: they must not grow as they are."""

    @property
    def rows(self) -> int:
        return len(self.records) + len(self.archived)


class JournalWriter:
    """The thread and what waits for it."""

    def __init__(self) -> None:
        self._due: list[PendingNote] = []
        self._turn = Lock()
        self._thread = ThreadPoolExecutor(1)
        self._work: Future[None] | None = None
        self._is_busy = False
        self._rests_until = 0.0
        self._closed = Event()

    def put(self, answers: PendingNote) -> None:
        """Has them noted; raises what kept the ones before from it."""
        with self._turn:
            answers.is_due = True
            self._due.append(answers)
            if self._work is not None and self._work.done():
                self._work.result()
            if not self._is_busy:
                self._is_busy = True
                self._work = self._thread.submit(self._note)

    def take_back(self, answers: PendingNote) -> bool:
        """Whether these, if they were put last, may grow: nobody is noting them."""
        with self._turn:
            if not self._due or self._due[-1] is not answers:
                return False
            self._due.pop().is_due = False
            return True

    def close(self) -> None:
        """Nothing more is noted."""
        self._closed.set()
        self._thread.shutdown()

    # in the thread

    def _note(self) -> None:
        while due := self._next():
            for answers in due:
                answers.notes.write(
                    answers.records, answers.archived, answers.total, answers.followed
                )
            rest = min(sum(answers.rows for answers in due) * _REST_S, _LONGEST_REST_S)
            self._rests_until = time.monotonic() + rest

    def _next(self) -> list[PendingNote]:
        rest = self._rests_until - time.monotonic()
        if rest > 0 and self._due:
            self._closed.wait(rest)
        with self._turn:
            due, self._due = self._due, []
            self._is_busy = bool(due) and not self._closed.is_set()
            return due if self._is_busy else []
