"""What can be asked of clean."""

from __future__ import annotations

from dataclasses import dataclass

from crawl.operations.options import StealLock
from crawl.phases.index.options import Commit, Params


@dataclass(frozen=True, slots=True)
class CleanOptions:
    """The options of clean."""

    params: Params = None
    commit: Commit = True
    steal_lock: StealLock = False
