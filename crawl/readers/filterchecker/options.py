"""What can be asked of filterchecker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from crawl.operations.options import option


@dataclass(frozen=True, slots=True, kw_only=True)
class FiltercheckerOptions:
    """The options of filterchecker."""

    urls: Annotated[tuple[str, ...], option("URLs.", metavar="[URL]...", argument=True)] = ()
    filters: Annotated[
        tuple[str, ...],
        option(
            "Ask this filter instead of those in urlfilter.order (repeatable).",
            "--filter-name",
            metavar="PLUGIN",
        ),
    ] = ()
