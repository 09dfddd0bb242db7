"""What can be asked of fetch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from crawl.operations.options import Positive, StealLock, option


@dataclass(frozen=True, slots=True)
class FetchOptions:
    """The options of fetch."""

    segment: Annotated[
        str | None,
        option("The segment to fetch (default: the oldest not fetched yet).", argument=True),
    ] = None
    threads: Annotated[
        Positive | None, option("Threads per task (default: fetcher.threads.fetch).", metavar="N")
    ] = None
    more_rounds: Annotated[
        bool,
        option(
            "A further round follows: a tail of few slow hosts is not waited for, but left for it"
            " (fetcher.tail.cut)."
        ),
    ] = False
    steal_lock: StealLock = False
