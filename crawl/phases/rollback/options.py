"""What can be asked of rollback."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from crawl.operations.options import Positive, StealLock, option


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackOptions:
    """The options of rollback."""

    to: Annotated[
        Positive | None,
        option("The snapshot (default: the newest whole one before the current).", positional=True),
    ] = None
    steal_lock: StealLock = False
