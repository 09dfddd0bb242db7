"""What can be asked of rebucket."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from crawl.operations.options import StealLock, option


@dataclass(frozen=True, slots=True)
class RebucketOptions:
    """The options of rebucket."""

    buckets: Annotated[
        Annotated[int, Meta(ge=1, le=65_536)],
        option("How many; a multiple of the present number.", positional=True),
    ]
    steal_lock: StealLock = False
