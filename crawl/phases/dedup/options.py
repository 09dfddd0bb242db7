"""What can be asked of dedup."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from crawl.operations.options import Natural, StealLock, option
from crawl.phases.dedup.rules import DEFAULT_ORDER, Grouping, Nearness

_GROUPS_IN_FILE = 1000
"""Groups in a file, where nobody says how many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DedupOptions:
    """The options of dedup."""

    group: Annotated[
        str,
        option(
            "Compare all pages (none), or only those of one host or one domain.", metavar="GROUP"
        ),
    ] = Grouping.NONE.value
    compare_order: Annotated[
        str,
        option(
            "What decides which of the same pages survives, first things first: score, fetchTime,"
            " urlLength, httpsOverHttp, canonical, redirect.",
            metavar="KEYS",
        ),
    ] = DEFAULT_ORDER
    near: Annotated[
        str | None,
        option(
            "Also mark pages that are nearly the same and have the same title: jaccard[=SHARE] of"
            " the word triples of their main texts (default:"
            f" {Nearness.parse('jaccard').threshold:g}), or hamming[=BITS] of simhashes as"
            f" signatures (default: {Nearness.parse('hamming').bits}).",
            metavar="MEASURE",
        ),
    ] = None
    preview: Annotated[
        bool | Natural,
        option(
            "Mark nothing: show near duplicates, the most doubtful first, and what differs between"
            " them. In Python a number says how many."
        ),
    ] = False
    pairs: Annotated[
        Annotated[int, Meta(ge=1, le=10_000)],
        option("With --preview: show so many of them.", metavar="N"),
    ] = 20
    canonical: Annotated[
        bool,
        option(
            "Also mark pages that name another page of the crawl as canonical; that one survives."
        ),
    ] = False
    redirects: Annotated[
        bool,
        option("Also mark pages that redirect to another page of the crawl; that one survives."),
    ] = False
    groups: Annotated[
        Annotated[int, Meta(ge=0, le=100_000)] | None,
        option("Show the N largest groups of the same pages.", metavar="N"),
    ] = None
    urls: Annotated[
        Annotated[int, Meta(ge=0, le=1_000_000)],
        option("Name so many of the duplicates of each of these groups.", metavar="N"),
    ] = 10
    report: Annotated[
        str | None,
        option(
            f"Write these groups (default: {_GROUPS_IN_FILE}) to a file, .json or .parquet.",
            metavar="FILE",
        ),
    ] = None
    steal_lock: StealLock = False

    @property
    def pair_count(self) -> int:
        """How many near duplicates a preview shows; 0 where duplicates are marked."""
        if isinstance(self.preview, bool):
            return self.pairs if self.preview else 0
        return self.preview

    @property
    def group_count(self) -> int:
        """Of how many groups the result tells."""
        usual = 0 if self.report is None else _GROUPS_IN_FILE
        return usual if self.groups is None else self.groups
