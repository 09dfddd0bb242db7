"""Tells the log of refused requests, without letting those who send them fill the disk."""

from __future__ import annotations

import logging
from typing import Final

from crawl.clock import Clock
from crawl.counters import Counters
from crawl.printable import printable

_log = logging.getLogger(__name__)
_EVERY_S: Final = 1.0
_LONGEST: Final = 200
_FAULT: Final = " fault"


class RefusalLog:
    """One line a second for each code; the next one says how many were left out. For one event
    loop."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._told_at: dict[str, float] = {}
        self._left_out = Counters()

    def tell_fault(self, fault: str) -> None:
        """Tells what went wrong in the service itself, such as a full disk, on which the log may
        be as well."""
        now = self._clock.monotonic()
        if now - self._told_at.get(_FAULT, -_EVERY_S) >= _EVERY_S:
            self._told_at[_FAULT] = now
            _log.error("%s", fault)

    def tell(self, code: str, client: str, method: str, path: str) -> None:
        """Codes are ours and few; all else is the sender's, and made safe to look at."""
        now = self._clock.monotonic()
        if now - self._told_at.get(code, -_EVERY_S) < _EVERY_S:
            self._left_out[code] += 1
            return
        self._told_at[code] = now
        others = self._left_out.pop(code, 0)
        _log.warning(
            "refused (%s): %s %s of %s%s",
            code,
            printable(method, 20),
            printable(path, _LONGEST),
            printable(client, 80),
            f"; and {others:,} more" if others else "",
        )
