"""Counts what this process reads from the folders of crawls and writes to them.

It is counted a file at a time, where files are opened (crawl/storage/folder.py), and for whom: a
thread that works for a phase counts for the phase, every other for the process. A worker of the
engine runs one task at a time, so that what its process counts in the meantime is the task's,
whichever of its threads read or wrote it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class IoCounts:
    """Bytes, and how often the file system was asked for anything."""

    bytes_read: int = 0
    bytes_written: int = 0
    requests: int = 0

    def __add__(self, other: IoCounts) -> IoCounts:
        return IoCounts(
            self.bytes_read + other.bytes_read,
            self.bytes_written + other.bytes_written,
            self.requests + other.requests,
        )

    def __sub__(self, earlier: IoCounts) -> IoCounts:
        """What has come since."""
        return IoCounts(
            self.bytes_read - earlier.bytes_read,
            self.bytes_written - earlier.bytes_written,
            self.requests - earlier.requests,
        )


class IoTally:
    """Adds up what several threads read and write."""

    def __init__(self) -> None:
        self._adding = threading.Lock()
        self._total = IoCounts()

    def add(self, counts: IoCounts) -> None:
        with self._adding:
            self._total += counts

    @property
    def total(self) -> IoCounts:
        return self._total


_process = IoTally()
_of_thread: ContextVar[IoTally | None] = ContextVar("nutria_io", default=None)


def count_io(*, read: int = 0, written: int = 0, requests: int = 1) -> None:
    """Counts something that was asked of a file system."""
    (_of_thread.get() or _process).add(IoCounts(read, written, requests))


def process_io() -> IoCounts:
    """All that threads of this process have counted that work for no phase: two looks tell what
    came in between."""
    return _process.total


@contextmanager
def counted_by(tally: IoTally) -> Iterator[None]:
    """Has this thread count for `tally` in the block."""
    token = _of_thread.set(tally)
    try:
        yield
    finally:
        _of_thread.reset(token)
