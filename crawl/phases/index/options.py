"""What can be asked of index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated
from urllib.parse import parse_qsl

from crawl.errors import UsageError
from crawl.operations.options import Natural, Segments, StealLock, option


def read_params(text: str) -> dict[str, str]:
    """The pairs of a query string."""
    try:
        return dict(parse_qsl(text, keep_blank_values=True, strict_parsing=bool(text)))
    except ValueError:
        raise UsageError(f"expected KEY=VALUE&KEY=VALUE, got {text!r}") from None


Params = Annotated[
    dict[str, str] | None,
    option("Parameters of all index writers.", metavar="K=V&K=V", parse=read_params),
]
"""They stand above those of index-writers.toml."""
Commit = Annotated[bool, option("Leave it to the servers when to commit.")]


@dataclass(frozen=True, slots=True)
class IndexOptions:
    """The options of index."""

    segments: Segments = ()
    every: Annotated[bool, option("Index every segment that is parsed again.", "--all")] = False
    since: Annotated[
        Natural | None,
        option(
            "Index the segments that the CrawlDb has taken in after this snapshot of it.",
            metavar="SNAPSHOT",
        ),
    ] = None
    crawldb: Annotated[
        bool,
        option("Index what the segments have, without asking the CrawlDb.", nutch="-nocrawldb"),
    ] = True
    delete_gone: Annotated[
        bool | None,
        option(
            "Delete the documents of pages that are gone, redirected, orphans or duplicates"
            " (the property indexer.delete)."
        ),
    ] = None
    filter: Annotated[bool, option("Leave out URLs that filters reject today.")] = False
    binary_content: Annotated[
        bool, option("Documents have the page's bytes: binaryContent.", "--add-binary-content")
    ] = False
    base64: Annotated[bool, option("Binary content in Base64.")] = False
    params: Params = None
    commit: Commit = True
    rebuild: Annotated[
        bool,
        option("Make the index anew, of all segments; what is there is replaced when it is done."),
    ] = False
    steal_lock: StealLock = False
