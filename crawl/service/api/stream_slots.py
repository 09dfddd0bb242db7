"""How many streams go on at a time, of one key and of all, and for how long each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from crawl.clock import Clock
from crawl.service.api.http_limits import HttpLimits
from crawl.service.api.refused import Refused


@dataclass(frozen=True, slots=True)
class StreamSlots:
    """For one event loop."""

    limits: HttpLimits
    clock: Clock
    _taken: Counter[str] = field(default_factory=Counter)

    def require(self, holder: str) -> None:
        """Raises Refused where one more may not begin."""
        if self._taken.total() >= self.limits.streams:
            message = "too many streams at a time: come back later"
            raise Refused(503, "too_many_streams", message, (("Retry-After", "30"),))
        if self._taken[holder] >= self.limits.streams_of_key:
            message = f"at most {self.limits.streams_of_key:,} streams of one key at a time"
            raise Refused(429, "too_many_streams", message, (("Retry-After", "30"),))

    @contextmanager
    def taken(self, holder: str) -> Iterator[float]:
        """While a stream goes on; yields the moment at which it ends."""
        self._taken[holder] += 1
        try:
            yield self.clock.monotonic() + self.limits.stream_s
        finally:
            self._taken[holder] -= 1
            if not self._taken[holder]:
                del self._taken[holder]
