"""Something done now and then by a thread, while a block runs, and once more at its end."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def repeating(do: Callable[[], None], interval_s: float, name: str) -> Iterator[None]:
    """`name` is the thread's."""
    over = threading.Event()

    def go_on() -> None:
        while not over.wait(interval_s):
            do()

    thread = threading.Thread(target=go_on, name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        do()
