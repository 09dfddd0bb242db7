"""Ids of jobs: 26 letters and digits that sort by time (ULID), so that keys of a store do too."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from threading import Lock

from crawl.clock import Clock

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_DIGITS = "0123456789abcdef"
_RANDOM_BITS = 80


class JobIds:
    """Makes ids that no other service makes, each greater than those before it."""

    def __init__(self, clock: Clock, bits: Callable[[int], int] = secrets.randbits) -> None:
        self._clock = clock
        self._bits = bits
        self._lock = Lock()
        self._last_ms = 0
        self._last_random = 0

    def new(self) -> str:
        """The next id. Within a millisecond, or where the clock went back, the random part counts
        on."""
        with self._lock:
            now_ms = self._clock.now_ms()
            if now_ms > self._last_ms:
                # half of the range is left to count on
                self._last_ms, self._last_random = now_ms, self._bits(_RANDOM_BITS - 1)
            else:
                self._last_random += 1
            return _encode(self._last_ms, 10) + _encode(self._last_random, 16)


def is_job_id(text: str) -> bool:
    """Whether a text from outside can be one."""
    return len(text) == 26 and all(letter in _ALPHABET for letter in text)


def is_key_of_job(text: str) -> bool:
    """Whether a text from outside can be the id of a job, a site crawl's among them, which has the
    crawl's own before it."""
    crawl, dash, digest = text.partition("-")
    is_digest = len(digest) == 20 and all(letter in _DIGITS for letter in digest)
    return is_job_id(crawl) and (is_digest or not dash)


def _encode(number: int, length: int) -> str:
    letters = []
    for _ in range(length):
        number, digit = divmod(number, 32)
        letters.append(_ALPHABET[digit])
    return "".join(reversed(letters))
