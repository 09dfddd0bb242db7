"""Ctrl-C, SIGTERM and SIGHUP for a job that can end in good order: the first asks, the second ends.

A terminal that is closed sends SIGHUP, and nobody reads what is printed from then on. It may come
twice, from the shell and from the system, so it asks and never ends at once. Where it is ignored
when the command starts, as under `nohup`, it stays so.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
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

    def tell(line: str) -> None:
        with suppress(OSError):  # the terminal may be gone
            notice(f"{what}: {line}")

    def stop() -> None:
        tell("stopping gracefully; interrupt again to stop at once")
        try:
            request_stop()
        except CrawlError as error:
            tell(f"cannot be stopped gracefully: {error}")

    # not in the handler: whoever is interrupted may hold what printing and writing need
    stopping = threading.Thread(target=stop, name="interrupt", daemon=True)

    def on_signal(number: int, _: FrameType | None) -> None:
        nonlocal signals
        if signals and number == signal.SIGHUP:
            return
        signals += 1
        if signals > 1:
            raise KeyboardInterrupt
        stopping.start()

    with _handled(on_signal, *_asking()):
        try:
            yield lambda: signals > 0
        finally:
            # what it asks for may be a second signal, which belongs to this block: where the block
            # ends just now, it would hit whoever prints its result
            if signals == 1:
                stopping.join()


def _asking() -> list[signal.Signals]:
    asking = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        asking.append(signal.SIGHUP)
    return asking


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
