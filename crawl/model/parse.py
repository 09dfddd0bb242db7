"""Parse: what a parser made of a page: text, title, links and whatever else it says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

REDIRECT_KEY = "_redirect_"
"""In the metadata of parse_data: where a page sends its reader on (meta refresh)."""


class ParseStatus(StrEnum):
    """How a parse ended; each failure is a reason to count."""

    SUCCESS = "success"
    REDIRECT = "success_redirect"
    """Parsed, and the page sends its readers on by a meta refresh."""
    EXCEPTION = "failed_exception"
    INVALID_FORMAT = "failed_invalid_format"
    """The bytes are not of the type that they were taken for."""
    TRUNCATED = "failed_truncated"
    """The body is not whole, and such are not to be parsed."""
    TIMEOUT = "failed_timeout"
    MEMORY = "failed_memory"
    CRASHED = "failed_crashed"
    """The parser took its process along."""

    @property
    def is_success(self) -> bool:
        return self in (ParseStatus.SUCCESS, ParseStatus.REDIRECT)


UNFOLLOWABLE_TAGS = ("link", "script")
"""Elements by which a page names a URL to the browser and shows its reader no link: canonical and
alternate pages, style sheets, scripts. Such URLs may be fetched, but are no links of the LinkDb
and the link graph."""


class Outlink(NamedTuple):
    """A link as the page has it, its target resolved to an absolute URL.

    No dataclass: pages have hundreds, and a tuple is made in a fraction of the time.
    """

    url: str
    anchor: str = ""
    rel: str = ""
    """The link's `rel` words, lower-case, one space between."""
    tag: str = ""
    """The element that it was found in: `a`, `img`, `link` …; empty where there is none."""

    @property
    def is_followable(self) -> bool:
        """Whether a reader of the page can follow it."""
        return self.tag not in UNFOLLOWABLE_TAGS


@dataclass(frozen=True, slots=True)
class Refresh:
    """Where a meta refresh leads to."""

    url: str
    temporary: bool


@dataclass(frozen=True, slots=True)
class Parse:
    """One parsed document. A feed or an archive yields several, the first its own."""

    url: str
    status: ParseStatus = ParseStatus.SUCCESS
    message: str = ""
    """One line for people: of a failure, or of a success that has brought nothing."""
    title: str = ""
    text: str = ""
    main_text: str | None = None
    """The text without boilerplate, where that was asked for."""
    outlinks: tuple[Outlink, ...] = ()
    """In document order and not filtered; at most as many as the parser reads of a page."""
    outlinks_over_limit: int = 0
    """How many more the parser met and left out because it had read that many."""
    outlinks_dropped: Mapping[str, int] = field(default_factory=dict)
    """How many more the parser met and left out for other reasons, by reason: `malformed`,
    `sitemap_limit` …"""
    refresh: Refresh | None = None
    canonical: str = ""
    """The URL by which the page wants to be known, absolute."""
    language: str = ""
    directives: frozenset[str] = frozenset()
    """What the page asks of robots like us: `noindex`, `nofollow`, `noarchive` …"""
    metadata: Mapping[str, str] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    """What a parse filter wants counted in the report of the parse, by name."""

    @property
    def link_count(self) -> int:
        """How many links the document has, with those that the parser left out."""
        left_out = self.outlinks_over_limit + sum(self.outlinks_dropped.values())
        return len(self.outlinks) + left_out
