"""What the engine brings out, on its way to the thread that finishes jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from threading import Condition

from crawl.counters import Counters
from crawl.fetcher.values.item import FetchItem, FollowedUrl, FoundLinks
from crawl.fetcher.values.record import FetchRecord
from crawl.model.content import Content
from crawl.model.hosts import HostTrouble
from crawl.model.status import Status
from crawl.robots.stored import StoredAnswer

MAX_WAITING = 512
MAX_BYTES = 64 << 20
"""With more records, or more bytes of them, waiting to be finished, nothing more is asked for."""


class Arrivals:
    """The engine's output port: called under the engine's lock, emptied by another thread."""

    parses_pages = True
    """So that the engine looks whether it is behind; no links come back this way."""

    def __init__(self, on_robots: Callable[[StoredAnswer], None]) -> None:
        self.counters = Counters()
        self._on_robots = on_robots
        self._records: list[FetchRecord] = []
        self._returned: list[tuple[FetchItem, str]] = []
        self._troubles: list[HostTrouble] = []
        self._bytes = 0
        self._unfinished = 0
        self._changed = Condition()
        self._is_woken = False

    # the engine's side

    def add(self, record: FetchRecord) -> None:
        if record.datum.status is Status.LINKED:
            return  # a redirect's target, which the job goes on with, or says why not
        with self._changed:
            self._records.append(record)
            self._unfinished += 1
            self._bytes += _size(record)
            self._changed.notify()

    def add_returned(self, item: FetchItem, reason: str) -> None:
        """Takes a URL that is given back without a record."""
        with self._changed:
            self._returned.append((item, reason))
            self._changed.notify()

    def add_followed(self, followed: FollowedUrl) -> None:
        raise AssertionError("the service follows redirects itself")

    def add_archived(self, content: Content) -> None: ...

    def add_robots(self, answer: StoredAnswer) -> None:
        self._on_robots(answer)

    def add_host_troubles(self, troubles: Iterable[HostTrouble]) -> None:
        with self._changed:
            self._troubles.extend(troubles)

    def commit_point(self, now: float) -> None: ...

    def commit_due(self) -> float | None:
        return None

    @property
    def is_behind(self) -> bool:
        return self._unfinished >= MAX_WAITING or self._bytes >= MAX_BYTES

    def found_links(self) -> Iterable[FoundLinks]:
        return ()

    def awaits_links(self) -> bool:
        return False

    # the other thread's

    def take(
        self, limit: int, timeout_s: float | None
    ) -> tuple[list[FetchRecord], list[tuple[FetchItem, str]], list[HostTrouble]]:
        """What has come, some records at the most; waits until there is something, or until it is
        woken, or the time is up."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._records or self._returned or self._is_woken, timeout_s
            )
            self._is_woken = False
            records = self._records[:limit]
            del self._records[:limit]
            returned, self._returned = self._returned, []
            troubles, self._troubles = self._troubles, []
        return records, returned, troubles

    def finished(self, records: Sequence[FetchRecord]) -> None:
        """Says that records are stored: others may come in their place."""
        with self._changed:
            self._unfinished -= len(records)
            self._bytes -= sum(map(_size, records))

    def wake(self) -> None:
        """Has `take` come back."""
        with self._changed:
            self._is_woken = True
            self._changed.notify()


def _size(record: FetchRecord) -> int:
    return 0 if record.content is None else len(record.content.body)
