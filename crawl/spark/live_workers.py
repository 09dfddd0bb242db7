"""Which workers of a standalone cluster live.

A master goes on listing workers that died, for fifteen minutes by default, and what it knows of
their state does not travel in its answer. So the workers are asked themselves, once each: one
whose port is closed is gone. One that says nothing may be behind a firewall, and counts as alive.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

Address = tuple[str, int]

_PATIENCE_S = 0.5
_AT_ONCE = 32


class LiveWorkers:
    """Remembers what it has found out, so that a session that waits asks nobody twice."""

    def __init__(self) -> None:
        self._is_closed: dict[Address, bool] = {}

    def among(self, workers: Iterable[Address]) -> set[Address]:
        """Those of the workers that live; all of them where every port is closed: then something
        between them and us refuses, and the list is all there is."""
        listed = set(workers)
        new = sorted(listed - self._is_closed.keys())
        if new:
            with ThreadPoolExecutor(min(_AT_ONCE, len(new))) as pool:
                self._is_closed.update(zip(new, pool.map(_is_closed, new), strict=True))
        return {worker for worker in listed if not self._is_closed[worker]} or listed


def _is_closed(worker: Address) -> bool:
    try:
        with socket.create_connection(worker, timeout=_PATIENCE_S):
            return False
    except ConnectionRefusedError:
        return True
    except (OSError, UnicodeError):  # the latter: a name that is none
        return False
