"""Hints at the licence of a page: what it links to as its licence, Creative Commons links, and
what its metadata say of rights. Hints, for a link may be about a picture, and a page may lie."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from urllib.parse import urljoin

from crawl.html.tags_around import MAX_LOOKS, tags_around

_CREATIVE_COMMONS = re.compile(
    rb"(?:https?:)?//(?:www\.)?creativecommons\.org/(?:licenses|publicdomain)/[A-Za-z0-9.+/-]{1,60}"
)
_LICENSE = re.compile(rb"\blicense\b", re.I)
_TAG_START = re.compile(rb"<(a|link|area|meta)[\s/]", re.I)
_KEYS = ("dcterms.license", "dcterms.rights", "dc.rights", "dc.license", "copyright", "license")
_JSON_LICENSE = re.compile(r'"license"\s*:\s*"([^"\\]{1,500})"')

_MAX_HINTS = 10
_MAX_CHARACTERS = 500


def licence_hints(markup: bytes, url: str, metadata: Mapping[str, str]) -> list[str]:
    """The hints of a page, each once, links first."""
    hints: dict[str, None] = {}
    for hint in _hints(markup, url, metadata):
        hints[" ".join(hint.split())[:_MAX_CHARACTERS]] = None
        if len(hints) > _MAX_HINTS:
            break
    return list(filter(None, hints))[:_MAX_HINTS]


def _hints(markup: bytes, url: str, metadata: Mapping[str, str]) -> Iterator[str]:
    if _may_contain(markup, b"icense"):
        yield from _licence_links(markup, url)
    if b"creativecommons.org/" in markup:
        for match in islice(_CREATIVE_COMMONS.finditer(markup), MAX_LOOKS):
            link = match[0].decode("ascii")
            yield f"https:{link}" if link.startswith("//") else link
    for key in _KEYS:
        if value := metadata.get(key):
            yield value
    for named in _JSON_LICENSE.finditer(metadata.get("json-ld", "")):
        yield named[1]


def _may_contain(markup: bytes, word: bytes) -> bool:
    return word in markup or word.upper() in markup


def _licence_links(markup: bytes, url: str) -> Iterator[str]:
    """Targets of `<a rel=license href=…>` and of `<link rel=license …>`, and what a meta tag of
    that name says."""
    places = (match.span() for match in _LICENSE.finditer(markup))
    for tag, attributes, _ in tags_around(markup, places, _TAG_START, is_each_once=True):
        if tag == b"meta":
            name = attributes.get("name") or attributes.get("property") or ""
            if "license" in name.lower():
                yield attributes.get("content") or ""
        elif "license" in (attributes.get("rel") or "").lower().split():
            yield _absolute(url, attributes.get("href") or "")


def _absolute(url: str, reference: str) -> str:
    try:
        return urljoin(url, reference.strip()) if reference.strip() else ""
    except ValueError:
        return ""
