"""What can be asked of refresh."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from crawl.operations.options import StealLock, option


@dataclass(frozen=True, slots=True)
class RefreshOptions:
    """The options of refresh."""

    patterns: Annotated[
        tuple[str, ...],
        option(
            "Hosts, domains, URLs and patterns of the URLs to be made due.",
            metavar="HOST|URL|PATTERN...",
            argument=True,
        ),
    ]
    gone: Annotated[bool, option("Pages that are gone, too.")] = False
    dry_run: Annotated[bool, option("Count what would be made due, and do nothing.")] = False
    steal_lock: StealLock = False
