"""What can be asked of the statistics."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from crawl.operations.options import Natural, Segments, SnapshotNumber, option

Plot = Annotated[
    str | None, option("Draw a picture: FILE.svg, .png or .pdf (extra `plot`).", metavar="FILE")
]
Top = Annotated[Natural, option("How many names are listed.")]


class NameKind(StrEnum):
    """By what is counted."""

    HOST = "host"
    DOMAIN = "domain"
    SUFFIX = "suffix"
    TLD = "tld"


class CompleteKind(StrEnum):
    """What completeness is counted by."""

    HOST = "host"
    DOMAIN = "domain"


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainstatsOptions:
    """The options of domainstats."""

    by: Annotated[NameKind, option("What is counted.", positional=True)] = NameKind.HOST
    top: Top = 50
    plot: Plot = None
    snapshot: SnapshotNumber = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlcompleteOptions:
    """The options of crawlcomplete."""

    by: Annotated[CompleteKind, option("What is counted.", positional=True)] = CompleteKind.HOST
    top: Top = 50
    plot: Plot = None
    snapshot: SnapshotNumber = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtocolstatsOptions:
    """The options of protocolstats."""

    plot: Plot = None
    snapshot: SnapshotNumber = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkstatsOptions:
    """The options of linkstats."""

    segments: Segments = ()
    top: Annotated[Natural, option("How many of the most linked URLs are listed.")] = 20
    plot: Plot = None
