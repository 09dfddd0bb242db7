"""What can be asked of webgraph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from crawl.operations.options import Segments, StealLock, option


@dataclass(frozen=True, slots=True)
class WebGraphOptions:
    """The options of webgraph."""

    segments: Segments = ()
    """None: every one that is parsed and not in the graph yet."""
    filter: Annotated[bool, option("Drop links that the URL filters reject today.")] = False
    normalize: Annotated[bool, option("Bring links into the form that is normal today.")] = False
    again: Annotated[bool, option("Take named segments in again, or whose parse is not whole.")] = (
        False
    )
    steal_lock: StealLock = False
