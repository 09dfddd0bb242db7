"""Servers that take a request and say nothing: when the end of a fetch does not wait for them.

A server's first request of a fetch is for its robots.txt. Where nothing else is left to be
done, such requests alone would hold a round for the whole `http.timeout`. They are given up
sooner, and their hosts put off as after a timeout, under these conditions:

- every request under way is for a robots.txt, and has been for as long as `fetcher.tail.silence`
  says, for the usual pause between two requests to a server, and for four times as long as
  the slowest robots.txt of this fetch took;
- another server has answered or refused in this fetch: where nobody has, it may be the network,
  or one slow server alone;
- none of the hosts was given up like this before: whoever was is given all of its time when it
  is tried again, and keeps that right once it has answered.

A request that is given up counts as one that was sent: its server's pause begins, and an
answer that still comes is passed over.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from crawl.fetcher.values.item import FetchItem
from crawl.urls.parse import host_of

_SLOWER = 4
_LOOK_AGAIN_S = 0.1
"""Between two looks answers are read that have come: this process may have been held up."""


@dataclass(slots=True)
class SilentServers:
    """The requests for a robots.txt that are under way."""

    least_s: float
    """How long each is waited for at the least; infinite: until its request ends."""
    needs_time: Callable[[str], bool]
    """Whether a host is known to need all of its time."""
    _given_up: set[FetchItem] = field(default_factory=set)
    _since: dict[FetchItem, float] = field(default_factory=dict)
    _slowest_s: float | None = None
    """Of the answers so far, refusals included."""
    _look_again: float = 0.0
    _needs: dict[str, bool] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._since)

    def asked(self, item: FetchItem, now: float) -> None:
        self._since[item] = now

    def answered(self, item: FetchItem, now: float) -> bool:
        """Takes note of an answer, or a failure; False where the request was given up."""
        if item in self._given_up:
            return False
        since = self._since.pop(item, now)
        self._slowest_s = max(self._slowest_s or 0.0, now - since)
        self._look_again = 0.0
        return True

    def waited_for_until(self) -> float:
        """When the last of them has been waited for long enough; where nobody has answered,
        never."""
        if not self._since or self._slowest_s is None:
            return math.inf
        patience_s = max(self.least_s, _SLOWER * self._slowest_s)
        last = next(reversed(self._since.values()))
        return max(last + patience_s, self._look_again)

    def leave(self, now: float) -> list[FetchItem]:
        """Gives up all of them, whose time is up, unless one needs more; at the second call."""
        if any(self._needs_time(item) for item in self._since):
            self.least_s = math.inf  # as long as it takes, and so for all
            return []
        if not self._look_again:
            self._look_again = now + _LOOK_AGAIN_S
            return []
        left = list(self._since)
        self._given_up.update(left)
        self._since.clear()
        self._look_again = 0.0
        return left

    def _needs_time(self, item: FetchItem) -> bool:
        host = host_of(f"{item.robots_for}/") or ""
        if host not in self._needs:
            self._needs[host] = self.needs_time(host)
        return self._needs[host]
