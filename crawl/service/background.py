"""Work that nobody waits for, done in the order in which it was given: one thread, and a bound on
how much may wait."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

MAX_WAITING = 2
"""Who gives more waits: what is to be done keeps rows in memory."""


class Background:
    """Given work by one thread."""

    def __init__(self, name: str) -> None:
        self._executor = ThreadPoolExecutor(1, name)
        self._waiting: deque[Future[None]] = deque()

    def do(self, work: Callable[[], None]) -> None:
        """Has it done after all that was given before. Raises what went wrong before."""
        while self._waiting and (self._waiting[0].done() or len(self._waiting) > MAX_WAITING):
            self._waiting.popleft().result()
        self._waiting.append(self._executor.submit(work))

    def wait(self) -> None:
        """Waits until all is done. Raises what went wrong."""
        while self._waiting:
            self._waiting.popleft().result()

    def close(self) -> None:
        """Ends the thread when all is done."""
        try:
            self.wait()
        finally:
            self._executor.shutdown()
