"""What can be asked of updatedb."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from crawl.operations.options import Segments, StealLock, option


@dataclass(frozen=True, slots=True)
class UpdateDbOptions:
    """The options of updatedb; None where the configuration decides."""

    segments: Segments = ()
    additions: Annotated[
        bool | None, option("Update known URLs only; add no new ones.", "--no-additions")
    ] = None
    filter: Annotated[bool | None, option("Drop every URL that the URL filters reject today.")] = (
        None
    )
    normalize: Annotated[
        bool | None, option("Bring every URL into the form that is normal today.")
    ] = None
    again: Annotated[
        bool, option("Apply named segments again, or whose fetch was interrupted.")
    ] = False
    steal_lock: StealLock = False
