"""What can be asked of inject."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from crawl.operations.options import Face, StealLock, option


@dataclass(frozen=True, slots=True)
class InjectOptions:
    """The options of inject."""

    urls: Annotated[
        tuple[str, ...],
        option(
            "URLs to inject. Each may be followed by TAB-separated key=value pairs, as on a line"
            " of a seed file.",
            positional=True,
            faces=Face.API,
        ),
    ] = field(default=(), kw_only=True)
    files: Annotated[
        tuple[str, ...],
        option(
            "Seed files, plain or gzip, and folders of them.",
            metavar="SEEDS...",
            argument=True,
            required_on=Face.COMMAND_LINE,
        ),
    ] = ()
    overwrite: Annotated[bool, option("A seed replaces the record of a known URL.")] = False
    update: Annotated[
        bool,
        option("A seed's metadata, score and interval are put into the record of a known URL."),
    ] = False
    filter: Annotated[bool, option("Take seeds that the URL filters reject.")] = True
    normalize: Annotated[bool, option("Take seeds as they are written.")] = True
    filter_normalize_all: Annotated[
        bool, option("Normalise and filter the URLs already in the CrawlDb too.")
    ] = False
    steal_lock: StealLock = False
