"""What can be asked of parse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from crawl.operations.options import StealLock, option


@dataclass(frozen=True, slots=True)
class ParseOptions:
    """The options of parse."""

    segment: Annotated[
        str | None,
        option("The segment to parse (default: the oldest not parsed yet).", argument=True),
    ] = None
    reparse: Annotated[bool, option("Parse a segment again and replace its parse.")] = False
    filter: Annotated[bool, option("Keep links that the URL filters reject.")] = True
    normalize: Annotated[bool, option("Leave links as the pages have them.")] = True
    steal_lock: StealLock = False
