"""What the functions of one page and one URL return."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from crawl.operations.results import html_table


@dataclass(frozen=True, slots=True)
class UrlCheck:
    """What normalizers and filters make of a URL."""

    url: str
    normal: str | None
    """In normal form; None for a text that is no URL."""
    accepted: bool
    """Whether the filters let the normal form in."""
    rejected_by: str
    """The filter that does not; empty where all do."""
    reason: str
    steps: tuple[dict[str, Any], ...]
    """What each normalizer and each filter said."""


@dataclass(frozen=True, slots=True)
class Link:
    """A link of a page and what the crawl would make of it."""

    url: str
    anchor: str
    rel: str
    kept_as: str
    """In normal form; empty where it would be dropped."""
    dropped: str
    """Why it would be dropped; empty where it is kept."""


@dataclass(frozen=True, slots=True)
class ParsedPage:
    """What a parse made of a page."""

    url: str
    status: str
    """`success`, or how it failed."""
    message: str
    title: str
    text: str = field(repr=False)
    main_text: str | None = field(repr=False)
    language: str
    mime_type: str
    charset: str
    canonical: str
    directives: tuple[str, ...]
    """What the page asks of robots: noindex, nofollow …"""
    metadata: Mapping[str, str] = field(repr=False)
    links: tuple[Link, ...] = field(repr=False)
    fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)
    """What the rules of `parsefilter.fields.file` took from it, as texts; empty where nothing was
    found."""
    field_problems: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Why a field has no value, or fewer than were found."""

    @property
    def is_parsed(self) -> bool:
        return self.status.startswith("success")

    def _repr_html_(self) -> str:
        rows: list[Sequence[object]] = [
            [name, getattr(self, name)]
            for name in ("url", "status", "title", "language", "mime_type", "charset")
        ]
        rows.append(["links", f"{len(self.links):,}"])
        rows.append(["text", f"{len(self.text):,} characters"])
        return html_table("page", ["what", "value"], rows)


@dataclass(frozen=True, slots=True)
class FetchedPage:
    """What became of one URL that was asked for."""

    url: str
    """The URL that answered, after redirects."""
    asked: str
    """The URL that was wanted."""
    status: str
    """What the fetch made of it: `fetch_success`, `fetch_gone` …; empty where nothing was
    asked, and `reasons` say why."""
    code: int
    """The HTTP status code; 0 where there was no answer."""
    content: bytes = field(repr=False)
    content_type: str
    headers: Mapping[str, str] = field(repr=False)
    redirects: tuple[str, ...]
    """The URLs that led there."""
    reasons: tuple[str, ...]
    """Why it, or a redirect's target, was not fetched."""
    robots: str
    """What the host's robots.txt was: `rules`, `none` …; empty where it was not asked."""

    @property
    def is_fetched(self) -> bool:
        return self.status == "fetch_success"

    def _repr_html_(self) -> str:
        names = ("url", "status", "code", "content_type", "robots", "redirects", "reasons")
        rows = [[name, getattr(self, name)] for name in names]
        return html_table("fetched", ["what", "value"], rows)
