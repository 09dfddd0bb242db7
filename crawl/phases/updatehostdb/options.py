"""What can be asked of updatehostdb."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from crawl.operations.options import Segments, StealLock, option


@dataclass(frozen=True, slots=True)
class UpdateHostDbOptions:
    """The options of updatehostdb."""

    segments: Segments = ()
    rebuild: Annotated[
        bool,
        option("Begin anew: count every segment that is there, and forget what others brought."),
    ] = False
    steal_lock: StealLock = False
