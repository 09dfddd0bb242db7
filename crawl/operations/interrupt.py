"""Ctrl-C and SIGTERM for a job that can end in good order: the first asks, the second ends."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from crawl.errors import CrawlError

INTERRUPTED = 130
"""The exit code of what was asked to end before it was done."""

Handler = Callable[[int, FrameType | None], None]


@contextmanager
def stop_on_signal(
    request_stop: Callable[[], None], what: str, notice: Callable[[str], None]
) -> Iterator[Callable[[], bool]]:
    """Calls `request_stop` at the first signal and raises KeyboardInterrupt at the second; yields a
    function that says whether there was a signal. `notice` is given lines for the user. Only
    the main thread can hear signals: in any other, nothing is changed."""
    signals = 0

    def stop() -> None:
        notice(f"{what}: stopping gracefully; interrupt again to stop at once")
        try:
            request_stop()
        except CrawlError as error:
            notice(f"{what}: cannot be stopped gracefully: {error}")

    # not in the handler: whoever is interrupted may hold what printing and writing need
    stopping = threading.Thread(target=stop, name="interrupt", daemon=True)

    def on_signal(_: int, __: FrameType | None) -> None:
        nonlocal signals
        signals += 1
        if signals > 1:
            raise KeyboardInterrupt
        stopping.start()

    with _handled(on_signal, signal.SIGINT, signal.SIGTERM):
        try:
            yield lambda: signals > 0
        finally:
            # what it asks for may be a second signal, which belongs to this block: where the block
            # ends just now, it would hit whoever prints its result
            if signals == 1:
                stopping.join()


@contextmanager
def sigterm_interrupts() -> Iterator[None]:
    """Has SIGTERM end the command as Ctrl-C does, with its clean-up and its exit code."""

    def on_signal(_: int, __: FrameType | None) -> None:
        raise KeyboardInterrupt

    with _handled(on_signal, signal.SIGTERM):
        yield


@contextmanager
def _handled(handler: Handler, *numbers: signal.Signals) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, before in handlers.items():
            signal.signal(number, before)
