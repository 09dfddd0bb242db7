"""parser feed: RSS, Atom and RDF: entries become links, or documents of their own.

feedparser because it knows every dialect. It is given a mended, bounded copy, so that it
never needs its tolerant reader, which takes quadratic time; and a stream, since it would
open what looks like the name of a file or a URL.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from crawl.config import Config, boolean, integer
from crawl.interfaces.page import Page
from crawl.interfaces.parser import Parser
from crawl.model.parse import Outlink, Parse
from crawl.parsing.formats.feeds import bounded_feed, is_feed
from crawl.parsing.formats.safe_xml import BadXml
from crawl.parsing.html.scan import scan_markup
from crawl.parsing.language import normalised
from crawl.parsing.link_lists import FEED_ENTRIES_KEY
from crawl.parsing.page_time import outside_page_time
from crawl.parsing.text.links import MAX_URL
from crawl.parsing.text.plain import facts, invalid, one_line, storable
from crawl.urls.domains import domain_of
from crawl.urls.parse import resolve

ENTRIES_AS_DOCUMENTS = boolean(
    "parser.feed.entries.as.documents",
    False,
    "Make each entry of a feed a document under its link, where that is of the feed's domain.",
)
MAX_ENTRIES = integer(
    "parser.feed.max.entries",
    1000,
    "Most entries read of one feed; their links are kept whatever db.max.outlinks.per.page says.",
    unit="entries",
    minimum=1,
)

_MAX_TEXT = 200_000
"""Characters of one entry."""
_MAX_LINKS = 20
_MAX_TAGS = 50
_FEED_TYPES = ("application/rss+xml", "application/atom+xml")


class FeedParser(Parser):
    """Feeds of any dialect."""

    mime_types: ClassVar[tuple[str, ...]] = (
        *_FEED_TYPES,
        *("application/rdf+xml", "application/xml", "text/xml", "text/rss+xml", "text/rss"),
        *("application/x-rss+xml", "text/atom+xml", "application/rss"),
    )

    def __init__(self, config: Config) -> None:
        self._with_documents = config[ENTRIES_AS_DOCUMENTS]
        self._max_entries = config[MAX_ENTRIES]

    def parse(self, page: Page) -> Sequence[Parse] | None:
        if not is_feed(page.markup):
            if page.mime_type not in _FEED_TYPES:
                return None
            return (invalid(page.url, "no feed: its root is none of rss, feed or rdf"),)
        try:
            bounded = bounded_feed(page.markup, self._max_entries)
        except BadXml as error:
            return (invalid(page.url, str(error)),)
        try:
            feed = _read(bounded.data, page.url)
        except Exception as error:  # it stumbles over feeds that are odd enough
            return (invalid(page.url, f"no feed that can be read: {type(error).__name__}"),)
        entries = [_FeedEntry(entry, page.url) for entry in feed.entries[: self._max_entries]]
        parses = [_feed(page.url, feed, entries, bounded.entries_left_out)]
        if self._with_documents:
            parses += _documents(page.url, entries)
        return parses


def _read(feed: bytes, url: str) -> Any:
    import feedparser  # it is slow to import

    return feedparser.parse(
        io.BytesIO(feed),
        response_headers={
            "content-type": "application/xml; charset=utf-8",
            "content-location": url,
        },
        sanitize_html=False,
        resolve_relative_uris=False,
    )


class _FeedEntry:
    """One entry, read carefully: any of it may be missing or of another kind."""

    def __init__(self, entry: Mapping[str, Any], feed_url: str) -> None:
        self.title = one_line(_bare(_text(entry, "title")))
        contents = [_text(part, "value") for part in _dicts(entry, "content")]
        self._markup = next(filter(None, contents), "") or _text(entry, "summary")
        # `link` is the one for readers; the others are attachments and the like
        own = _text(entry, "link")
        links = _dicts(entry, "links")
        others = ((_text(link, "href"), _text(link, "rel")) for link in links[:_MAX_LINKS])
        left_out = [link for link in links[_MAX_LINKS:] if _text(link, "href") != own]
        self.links_over_limit = len(left_out)
        rels: dict[str, str] = {}
        bad: set[str] = set()
        for target, rel in ((own, ""), *others):
            url = _resolved(feed_url, target)
            if url is not None:
                rels.setdefault(url, one_line(rel.lower(), 100))
            elif target.strip():
                bad.add(target)
        self.links_malformed = len(bad)
        self.url = next(iter(rels), None)
        self.links = tuple(Outlink(url, self.title, rel, "entry") for url, rel in rels.items())
        self.metadata = facts(_origin(entry))

    @property
    def text(self) -> str:
        return storable(_bare(self._markup[:_MAX_TEXT]))


def _feed(url: str, feed: Any, entries: Sequence[_FeedEntry], entries_left_out: int) -> Parse:
    about = feed.feed
    own = _resolved(url, _text(about, "link"))
    links = [Outlink(own, one_line(_bare(_text(about, "title"))), "", "feed")] if own else []
    for entry in entries:
        links += entry.links
    dropped = {
        "feed_limit": entries_left_out + sum(entry.links_over_limit for entry in entries),
        "malformed": sum(entry.links_malformed for entry in entries),
    }
    lines = [_bare(_text(about, "subtitle")), *(entry.title for entry in entries)]
    return Parse(
        url,
        title=one_line(_bare(_text(about, "title"))),
        text=storable("\n".join(filter(None, lines))),
        outlinks=tuple(links),
        outlinks_dropped={reason: count for reason, count in dropped.items() if count},
        language=normalised(_text(about, "language")),
        metadata=facts(
            {
                "feed.version": feed.get("version", ""),
                FEED_ENTRIES_KEY: len(entries),
                **_origin(about),
                "description": one_line(_bare(_text(about, "subtitle"))),
            }
        ),
    )


def _documents(url: str, entries: Sequence[_FeedEntry]) -> Iterator[Parse]:
    """A feed may speak for pages of its own domain only: else anybody could write anybody's."""
    with outside_page_time():  # the first to ask loads the list of public suffixes
        domain = domain_of(url)
    urls = {url}
    for entry in entries:
        if entry.url is None or entry.url in urls or domain_of(entry.url) != domain:
            continue
        urls.add(entry.url)
        yield Parse(
            entry.url,
            title=entry.title,
            text=entry.text,
            metadata=entry.metadata | facts({"feed": url}),
        )


def _text(values: Mapping[str, Any], key: str) -> str:
    # not values.get(), by which the library answers with a similar key instead
    value = dict.get(values, key) if isinstance(values, dict) else None
    return value if isinstance(value, str) else ""


def _dicts(values: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    members = values.get(key)
    return [each for each in members if isinstance(each, Mapping)] if members else []


def _bare(markup: str) -> str:
    return scan_markup(markup).text if "<" in markup or "&" in markup else markup


def _resolved(base: str, target: str) -> str | None:
    target = target.strip()
    return resolve(base, target) if 0 < len(target) <= MAX_URL else None


def _origin(values: Mapping[str, Any]) -> dict[str, str]:
    """What a feed and an entry say alike: by whom they are, of what, and from when."""
    dates = {key: _text(values, key) for key in ("published", "updated")}
    return {"author": _authors(values), "tags": _tags(values), **dates}


def _authors(values: Mapping[str, Any]) -> str:
    named = [_text(author, "name") for author in _dicts(values, "authors")[:_MAX_TAGS]]
    return ", ".join(dict.fromkeys(filter(None, named))) or _text(values, "author")


def _tags(values: Mapping[str, Any]) -> str:
    terms = [
        _text(tag, "term") or _text(tag, "label") for tag in _dicts(values, "tags")[:_MAX_TAGS]
    ]
    return ", ".join(dict.fromkeys(filter(None, terms)))
