"""What can be asked of gc."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from crawl.operations.options import Positive, StealLock, option


@dataclass(frozen=True, slots=True, kw_only=True)
class GcOptions:
    """The options of gc."""

    keep: Annotated[
        Positive | None,
        option("Snapshots to keep (default: crawldb.snapshots.keep).", positional=True),
    ] = None
    steal_lock: StealLock = False
