"""What can be asked of scoreupdater."""

from __future__ import annotations

from dataclasses import dataclass

from crawl.operations.options import StealLock


@dataclass(frozen=True, slots=True)
class ScoreUpdaterOptions:
    """The options of scoreupdater."""

    steal_lock: StealLock = False
