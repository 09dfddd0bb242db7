"""How long pages waited for the robots.txt of their authority, by what is seen of the engine from
outside: it looks for an answer of others when it needs one, and brings its own when it has it.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock

from crawl.clock import Clock
from crawl.robots.stored import StoredAnswer
from crawl.service.fetching.shared_robots import SharedRobots
from crawl.urls.servers import server_of

MAX_AUTHORITIES = 20_000
"""Of those that were asked last; of others the wait is not told apart from the queue's."""


class RobotsWaits:
    """From when until when each authority's rules were asked for lately; for several threads."""

    def __init__(self, clock: Clock, most: int = MAX_AUTHORITIES) -> None:
        self._clock = clock
        self._most = most
        self._lock = Lock()
        self._spans: OrderedDict[str, tuple[int, int | None]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._spans)

    def begin(self, authority: str) -> None:
        """An authority's robots.txt is asked for from now on."""
        with self._lock:
            _, ended_ms = self._spans.get(authority, (0, 0))
            if ended_ms is None:
                return  # asked for already
            self._keep(authority, (self._clock.now_ms(), None))

    def end(self, authority: str) -> None:
        """Its answer is there."""
        with self._lock:
            span = self._spans.get(authority)
            if span is not None and span[1] is None:
                self._spans[authority] = span[0], self._clock.now_ms()

    def within(self, authority: str, from_ms: int, until_ms: int) -> int:
        """For how many of these milliseconds, at the end of which a page was asked for, or given
        up, it was asked for."""
        with self._lock:
            span = self._spans.get(authority)
            if span is None:
                return 0
            began_ms, ended_ms = span
            if ended_ms is None and until_ms >= began_ms:
                # an answer that is none, such as that the host does not exist, is not brought
                self._spans[authority] = began_ms, until_ms
        end_ms = until_ms if ended_ms is None else min(until_ms, ended_ms)
        return max(0, end_ms - max(from_ms, began_ms))

    def span(self, authority: str) -> tuple[int, int]:
        """From when until when it was asked for last, for another process; zeros where that is not
        known, or not over."""
        with self._lock:
            began_ms, ended_ms = self._spans.get(authority, (0, 0))
        return (0, 0) if ended_ms is None else (began_ms, ended_ms)

    def keep(self, authority: str, began_ms: int, ended_ms: int) -> None:
        """Takes over what another process has seen."""
        with self._lock:
            self._keep(authority, (began_ms, ended_ms))

    def _keep(self, authority: str, span: tuple[int, int | None]) -> None:
        self._spans[authority] = span
        self._spans.move_to_end(authority)
        if len(self._spans) > self._most:
            self._spans.popitem(last=False)


def authority_of(url: str) -> str:
    """Whose robots.txt a URL is under; empty for what is no URL of a server."""
    server = server_of(url)
    return "" if server is None else server.origin


@dataclass(frozen=True, slots=True)
class TimedRobots:
    """Shared answers as the engine asks for them and brings them, and how long that takes."""

    shared: SharedRobots
    waits: RobotsWaits

    def take(self, authority: str) -> StoredAnswer | None:
        """The answer of an authority that still counts; None where it has to be asked."""
        answer = self.shared.take(authority)
        if answer is None:
            self.waits.begin(authority)
        return answer

    def add(self, answer: StoredAnswer) -> None:
        """Takes an answer that the engine has brought."""
        self.waits.end(answer.authority)
        self.shared.add(answer)
