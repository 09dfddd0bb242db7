"""Who may use the memory map of an LMDB, and when it may be made larger.

LMDB lets a process change the size of its map only while it has no transaction at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition


class MapGate:
    """Lets any number of transactions in, or one that changes the map."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._inside = 0
        self._is_shut = False

    def __enter__(self) -> None:
        with self._changed:
            while self._is_shut:
                self._changed.wait()
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._inside -= 1
            if not self._inside:
                self._changed.notify_all()

    @contextmanager
    def shut(self) -> Iterator[None]:
        """Nobody is inside, and nobody comes in, for a block."""
        with self._changed:
            while self._is_shut:
                self._changed.wait()
            self._is_shut = True
            while self._inside:
                self._changed.wait()
        try:
            yield
        finally:
            with self._changed:
                self._is_shut = False
                self._changed.notify_all()
