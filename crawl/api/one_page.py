"""One page, fetched or parsed, and one URL, without a crawl's folder and without a JVM."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from typing import Any

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.errors import UsageError
from crawl.fetcher.drivers.protocols import Protocols, resolved_protocols
from crawl.fetcher.drivers.single import FetchEnvironment, PageFetcher, PageVisit
from crawl.interfaces.chain_steps import filter_steps, normal_form, normalizer_steps
from crawl.interfaces.chains import URLNORMALIZER_LOOP_COUNT, FilterChain, NormalizerChain
from crawl.model.answer_keys import CODE_KEY
from crawl.model.content import Content
from crawl.model.status import Status
from crawl.operations.results import html_table
from crawl.parsing.check import CheckedDocument, ParseChecker
from crawl.robots.answer import Deferred
from crawl.robots.read import read_rules


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


def fetch_one(url: str, config: Config, *, redirects: int) -> FetchedPage:
    """Asks for one page as a crawl would: robots.txt first, and every pause kept."""
    if not isinstance(url, str):
        raise UsageError(f"a URL is a text, not {url!r}")
    with closing(Protocols(resolved_protocols(config), config)) as protocols:
        means = FetchEnvironment(protocols.fetch, SystemClock(), time.sleep)
        return _fetched(PageFetcher(config, means, redirects).visit(url))


def _fetched(visit: PageVisit) -> FetchedPage:
    last = visit.pages[-1] if visit.pages else None
    content = (last.content if last else None) or Content(visit.url, b"")
    rules = visit.rules
    basis = (
        rules.reason if isinstance(rules, Deferred) else rules.basis if rules is not None else ""
    )
    return FetchedPage(
        url=last.url if last else visit.url,
        asked=visit.url,
        status=last.datum.status.label if last else "",
        code=int(last.datum.metadata.get(CODE_KEY, 0)) if last else 0,
        content=content.body,
        content_type=content.content_type,
        headers=dict(content.headers),
        redirects=tuple(record.url for record in visit.pages[:-1]),
        reasons=visit.reasons,
        robots=str(basis),
    )


def parse_one(
    content: bytes, url: str, config: Config, *, content_type: str, headers: dict[str, str]
) -> ParsedPage:
    """Parses one page in the parser's own process, which bounds its time and memory."""
    if not isinstance(content, bytes | bytearray | memoryview):
        raise UsageError(f"a page is bytes, not {type(content).__name__}: encode it first")
    page = Content(
        url,
        bytes(content),
        content_type,
        200,
        SystemClock().now_ms(),
        headers={name.lower(): value for name, value in headers.items()},
        status=int(Status.FETCH_SUCCESS),
    )
    with ParseChecker(config) as checker:
        documents = checker.check(page).documents
    return _parsed(documents[0])


_AS_CHECKED = (
    *("url", "status", "message", "title", "text", "main_text"),
    *("language", "mime_type", "charset", "canonical"),
)
"""The fields of a page that was parsed that are those of a document that was checked."""


def _parsed(document: CheckedDocument) -> ParsedPage:
    return ParsedPage(
        **{name: getattr(document, name) for name in _AS_CHECKED},
        directives=tuple(document.directives.split()),
        metadata=dict(document.metadata),
        links=tuple(
            Link(link.link.url, link.link.anchor, link.link.rel, link.kept_as, link.reason)
            for link in document.links
        ),
        fields={each.name: each.values for each in document.fields},
        field_problems={each.name: each.problem for each in document.fields if each.problem},
    )


def check_one_url(url: str, config: Config) -> UrlCheck:
    """Asks the configured normalizers, then the filters."""
    if not isinstance(url, str):
        raise UsageError(f"a URL is a text, not {url!r}")
    normalizing = normalizer_steps(
        NormalizerChain.from_config(config), url, config[URLNORMALIZER_LOOP_COUNT]
    )
    normal = normal_form(url, normalizing)
    filtering = () if normal is None else filter_steps(FilterChain.from_config(config), normal)
    rejection = next((step for step in filtering if step.reason is not None), None)
    return UrlCheck(
        url,
        normal,
        normal is not None and rejection is None,
        rejection.plugin if rejection else "",
        (rejection.reason or "") if rejection else "",
        (*(asdict(step) for step in normalizing), *(asdict(step) for step in filtering)),
    )


def is_allowed_by(robots_txt: bytes | str, url: str, agents: tuple[str, ...]) -> bool:
    """Whether a robots.txt of these bytes allows the URL."""
    raw = robots_txt.encode() if isinstance(robots_txt, str) else robots_txt
    return read_rules(raw, agents).allows(url)
