"""What can be asked of invertlinks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from crawl.operations.options import Segments, StealLock, option


@dataclass(frozen=True, slots=True)
class InvertLinksOptions:
    """The options of invertlinks."""

    segments: Segments = ()
    normalize: Annotated[bool, option("Take the URLs of both pages as they are.")] = True
    filter: Annotated[bool, option("Take links that the URL filters reject.")] = True
    again: Annotated[
        bool,
        option(
            "Also invert named segments that are in the LinkDb already, in place of what they"
            " brought before, and such whose parse is not whole, as far as they were parsed."
        ),
    ] = False
    steal_lock: StealLock = False
