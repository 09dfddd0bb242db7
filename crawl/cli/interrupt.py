"""Ctrl-C and SIGTERM for a job that can end in good order: the first asks, the second ends."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from crawl.cli.output import remark


@contextmanager
def asks_first(ask: Callable[[], None], what: str) -> Iterator[Callable[[], bool]]:
    """Calls `ask` at the first signal and raises KeyboardInterrupt at the second; yields a
    function that says whether there was a signal."""
    signals = 0

    def heard(_: int, __: FrameType | None) -> None:
        nonlocal signals
        signals += 1
        if signals > 1:
            raise KeyboardInterrupt
        remark(f"{what}: ending in good order; once more to end at once")
        ask()

    kept = {number: signal.signal(number, heard) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: signals > 0
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)
