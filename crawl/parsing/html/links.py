"""Which attributes of which elements are links, and which of them lead anywhere."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice

from crawl.html.encoding import UTF_8
from crawl.html.tokens import Attributes
from crawl.urls.parse import resolver

LINK_ATTRIBUTES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("a", "area", "link"), ("href",)),
    **dict.fromkeys(("audio", "embed", "frame", "iframe", "input", "script", "track"), ("src",)),
    **dict.fromkeys(("img", "source"), ("src", "srcset")),
    "object": ("data",),
    "video": ("src", "poster"),
}
"""The link attributes of each element; forms are an option (parser.html.form.use_action)."""

_NO_DOCUMENT = frozenset(("dns-prefetch", "preconnect"))
"""`rel` of a link element whose target is a host, not a document."""

FOLLOWED_SCHEMES = ("http://", "https://", "ftp://", "file://")
_USELESS = re.compile(
    r"\s*+(?:$|#(?!!)|(?:about|blob|data|javascript|mailto|sms|tel):)", re.IGNORECASE
)
_LONGEST_SRCSET = 65_536
_SRCSET_CANDIDATES = 50
_SRCSET_REST = re.compile(r"[^,(]*+(?:\([^)]*+\)?[^,(]*+)*+")
_SRCSET_URL = re.compile(r"[\s,]*+(\S++)")


def link_references(tag: str, attributes: Attributes) -> list[str]:
    """The links of an element as they are written, without those that lead nowhere."""
    references: list[str] = []
    for name in LINK_ATTRIBUTES[tag]:
        value = attributes.get(name)
        if value:
            if name == "srcset":
                references += filter(may_lead_elsewhere, srcset(value))
            elif may_lead_elsewhere(value):
                references.append(value)
    return references


def may_lead_elsewhere(reference: str) -> bool:
    """Whether a reference can lead to another page; not a fragment, mail address or script."""
    return reference.startswith("/") or _USELESS.match(reference) is None


def rel_of(attributes: Attributes) -> str:
    """The words of `rel`, lower-case, one blank between."""
    value = attributes.get("rel")
    return " ".join(value.lower().split(None, 20)[:20])[:200] if value else ""


def is_document(rel: str) -> bool:
    """Whether a link element of this `rel` leads to something that can be fetched."""
    return not rel or _NO_DOCUMENT.isdisjoint(rel.split())


def srcset(value: str) -> Iterable[str]:
    """The URLs of a list of images; each may have a comma in it, and a size behind it."""
    return islice(_candidates(value[:_LONGEST_SRCSET]), _SRCSET_CANDIDATES)


def _candidates(value: str) -> Iterator[str]:
    at = 0
    while (match := _SRCSET_URL.match(value, at)) is not None:
        url = match[1]
        at = match.end()
        if url.endswith(","):
            url = url.rstrip(",")
        else:
            size = _SRCSET_REST.match(value, at)
            at = at if size is None else size.end()
        if url:
            yield url


class AbsoluteLinks(dict[str, str]):
    """The references of a page made absolute by its base; empty for one that leads nowhere.

    A page repeats many of its links: each is resolved once. Queries are written in the page's
    charset, as the server expects them of a browser.
    """

    def __init__(self, base: str, charset: str = UTF_8) -> None:
        super().__init__()
        self._resolve = resolver(base, charset)

    def __missing__(self, reference: str) -> str:
        url = self._resolve(reference)
        if url is None or not url.startswith(FOLLOWED_SCHEMES):
            url = ""
        self[reference] = url
        return url


def links_of_page(url: str, base: str | None, charset: str = UTF_8) -> AbsoluteLinks:
    """Makes the references of a page absolute, by its base element's or else by its URL."""
    absolute = AbsoluteLinks(url, charset)
    within = absolute[base] if base else ""
    return AbsoluteLinks(within, charset) if within else absolute
