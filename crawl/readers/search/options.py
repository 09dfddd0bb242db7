"""What can be asked of search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from crawl.operations.options import Natural, Positive, option


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryOptions:
    """The options of search."""

    query: Annotated[
        tuple[str, ...],
        option('Words, "phrases", -without, and fields such as title: host: since:', argument=True),
    ]
    limit: Annotated[Positive, option("Results to show.")] = 10
    offset: Annotated[Natural, option("Results to pass over.")] = 0
    per_host: Annotated[
        Natural | None,
        option(
            "Results of one host at most; 0: any number (the property search.results.per.host)."
        ),
    ] = None
    duplicates: Annotated[bool, option("Show pages with nearly the same text too.")] = False
    exact: Annotated[bool, option("Do not look for words with typos.")] = False
    facets: Annotated[
        Natural, option("Count the pages of the N commonest hosts and languages.")
    ] = 0
    explain: Annotated[bool, option("Show why each page ranks where it does.")] = False
    writer: Annotated[
        str | None,
        option("The index writer whose index is searched, where there are several.", metavar="ID"),
    ] = None
