"""What can be asked of mergelinkdb."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from crawl.operations.options import StealLock, option


@dataclass(frozen=True, slots=True)
class MergeLinkDbOptions:
    """The options of mergelinkdb."""

    others: Annotated[
        tuple[str, ...],
        option(
            "Folders of crawls whose LinkDbs are merged.",
            metavar="OTHER_CRAWL_DIR...",
            argument=True,
        ),
    ]
    normalize: Annotated[
        bool, option("Bring the URLs of the others into the form normal today.")
    ] = False
    filter: Annotated[bool, option("Leave out links whose URLs the filters reject.")] = False
    rebucket: Annotated[bool, option("Also merge LinkDbs that have another number of buckets.")] = (
        False
    )
    steal_lock: StealLock = False
