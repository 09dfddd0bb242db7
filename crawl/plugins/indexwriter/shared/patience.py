"""How long a server is waited for that is busy, or away: pauses that grow, by chance shorter, so
that tasks do not all come back at one moment."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

from crawl.clock import Clock, SystemClock

_FIRST_SECONDS = 0.25
_LONGEST_SECONDS = 30.0


class Patience:
    """Pauses between attempts, until the time that there is for them is over."""

    def __init__(
        self,
        seconds: float,
        clock: Clock | None = None,
        sleep: Callable[[float], None] = time.sleep,
        chance: random.Random | None = None,
    ) -> None:
        self.seconds = seconds
        self._clock = clock or SystemClock()
        self._sleep = sleep
        self._chance = chance or random.Random()
        self._until: float | None = None
        self._next = _FIRST_SECONDS
        self.pauses = 0
        """Since the beginning."""

    def renew(self) -> None:
        """Something went well: the time begins anew at the next failure."""
        self._until = None
        self._next = _FIRST_SECONDS

    def pause(self, asked_for: float | None = None) -> bool:
        """Waits after a failure, as long as the server asked for if it did; False, at once, where
        that would be longer than there is time."""
        now = self._clock.monotonic()
        if self._until is None:
            self._until = now + self.seconds
        rest = self._until - now
        wait = self._next * self._chance.uniform(0.5, 1.0)
        self._next = min(2 * self._next, _LONGEST_SECONDS)
        if asked_for is not None and asked_for > wait:
            wait = asked_for
            if wait > rest:
                return False
        if rest <= 0:
            return False
        self.pauses += 1
        self._sleep(min(wait, rest))
        return True
