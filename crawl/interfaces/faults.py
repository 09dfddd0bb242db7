"""What a plugin raises is counted, and nobody else suffers from it."""

from __future__ import annotations

from crawl.counters import Counters


class CountedFaults:
    """Around what is asked of a plugin: a fault ends that alone, and is counted. Left as they were
    are the values that would have been set, and what comes after is done."""

    __slots__ = ("_counter", "_counters", "_rows")

    def __init__(self, counters: Counters, counter: str, rows: int = 1) -> None:
        self._counters = counters
        self._counter = counter
        self._rows = rows

    def __enter__(self) -> None:
        """Nothing is to be done before."""

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        if kind is None or not issubclass(kind, Exception):
            return False
        self._counters[self._counter] += self._rows
        return True
