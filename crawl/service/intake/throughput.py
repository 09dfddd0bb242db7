"""How many jobs end in a second, lately: what a refused submitter's wait is reckoned by."""

from __future__ import annotations

from collections import deque
from threading import Lock

from crawl.clock import Clock

_WINDOW_S = 30.0


class Throughput:
    """Counts over the last half minute; for several threads."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = Lock()
        self._ended: deque[tuple[float, int]] = deque()
        self._count = 0

    def add(self, jobs: int) -> None:
        """Counts jobs that ended now."""
        with self._lock:
            now = self._clock.monotonic()
            if self._ended and now - self._ended[-1][0] < 1:
                begun, before = self._ended.pop()
                self._ended.append((begun, before + jobs))
            else:
                self._ended.append((now, jobs))
            self._count += jobs
            self._drop_old(now)

    @property
    def per_second(self) -> float:
        """0 where none has ended in the last half minute."""
        with self._lock:
            now = self._clock.monotonic()
            self._drop_old(now)
            if not self._ended:
                return 0.0
            return self._count / max(1.0, min(_WINDOW_S, now - self._ended[0][0]))

    def _drop_old(self, now: float) -> None:
        while self._ended and now - self._ended[0][0] > _WINDOW_S:
            self._count -= self._ended.popleft()[1]
