"""Hints at the licence of a page: what it links to as its licence, Creative Commons links, and
what its metadata say of rights. Hints, for a link may be about a picture, and a page may lie."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from urllib.parse import urljoin

from crawl.html.tokens import attributes_of

_CREATIVE_COMMONS = re.compile(
    rb"(?:https?:)?//(?:www\.)?creativecommons\.org/(?:licenses|publicdomain)/[A-Za-z0-9.+/-]{1,60}"
)
_LICENSE = re.compile(rb"\blicense\b", re.I)
_TAG_START = re.compile(rb"<(a|link|area|meta)[\s/]", re.I)
_KEYS = ("dcterms.license", "dcterms.rights", "dc.rights", "dc.license", "copyright", "license")
_JSON_LICENSE = re.compile(r'"license"\s*:\s*"([^"\\]{1,500})"')

_MAX_LOOKS = 200
_MAX_HINTS = 10
_FURTHEST = 2_000
"""Bytes between the beginning of a tag and the word."""
_LONGEST = 500


def licence_hints(markup: bytes, url: str, metadata: Mapping[str, str]) -> list[str]:
    """The hints of a page, each once, links first."""
    found: dict[str, None] = {}
    for hint in _hints(markup, url, metadata):
        text = " ".join(hint.split())[:_LONGEST]
        if text:
            found.setdefault(text)
        if len(found) >= _MAX_HINTS:
            break
    return list(found)


def _hints(markup: bytes, url: str, metadata: Mapping[str, str]) -> Iterator[str]:
    if _may_contain(markup, b"icense"):
        yield from _licence_links(markup, url)
    if b"creativecommons.org/" in markup:
        for number, found in enumerate(_CREATIVE_COMMONS.finditer(markup)):
            if number >= _MAX_LOOKS:
                break
            link = found[0].decode("ascii")
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
    that name says. The markup is looked at around the word alone, for it is rare."""
    behind = 0
    for number, found in enumerate(_LICENSE.finditer(markup)):
        if number >= _MAX_LOOKS:
            return
        start = markup.rfind(b"<", max(behind, found.start() - _FURTHEST), found.start())
        tag = _TAG_START.match(markup, start) if start >= 0 else None
        if tag is None:
            continue
        end = markup.find(b">", found.end(), found.end() + _FURTHEST)
        if end < 0:
            continue
        behind = end
        attributes = attributes_of(markup[tag.end() : end].decode("utf-8", "replace"))
        if tag[1].lower() == b"meta":
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
