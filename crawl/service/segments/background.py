"""Work that nobody waits for, done in the order in which it was given: one thread, and a bound on
the memory of what may wait."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

MAX_HELD_BYTES = 64 << 20
"""Of what is to be done: who gives more waits. It is what some thousand pages need, and so several
seconds of the pace that one service reaches: a large file may be written meanwhile."""


class Background:
    """Given work by one thread."""

    def __init__(self, name: str) -> None:
        self._executor = ThreadPoolExecutor(1, name)
        self._waiting: deque[tuple[int, Future[None]]] = deque()
        self._held_bytes = 0

    def do(self, work: Callable[[], None], held_bytes: int = 0, /) -> None:
        """Has it done after all that was given before; it keeps so many bytes in memory until then.
        Waits only where that is too much along with what waits already, and raises what went wrong
        before."""
        while self._waiting and (
            self._waiting[0][1].done() or (held_bytes and self._is_too_much(held_bytes))
        ):
            self._wait_for_one()
        self._waiting.append((held_bytes, self._executor.submit(work)))
        self._held_bytes += held_bytes

    def wait(self) -> None:
        """Waits until all is done. Raises what went wrong."""
        while self._waiting:
            self._wait_for_one()

    def close(self) -> None:
        """Ends the thread when all is done."""
        try:
            self.wait()
        finally:
            self._executor.shutdown()

    def _is_too_much(self, further_bytes: int) -> bool:
        return self._held_bytes + further_bytes > MAX_HELD_BYTES

    def _wait_for_one(self) -> None:
        held_bytes, future = self._waiting.popleft()
        self._held_bytes -= held_bytes
        future.result()
