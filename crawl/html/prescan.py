"""The charset that a page names in its first bytes: the prescan of the HTML Standard."""

from __future__ import annotations

import re
from typing import NamedTuple

from crawl.html.encoding import UTF_8, UTF_16, WINDOWS_1252, charset_named
from crawl.html.tokens import TAG, attributes_of

_PRESCAN = 8192
_TOKEN = re.compile(
    rb"<!--(?:-?>|.*?-->|.*+)|<(?:[!?]|/(?![a-zA-Z]))[^>]*+|" + TAG.encode(), re.DOTALL
)
"""Comments, what is taken for one, and tags: their slash, name and attributes."""
_CHARSET = re.compile(r"charset\s*=\s*[\"']?\s*([^\s\"';,]{1,40})", re.IGNORECASE)
_IN_XML = re.compile(
    rb"\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([a-z0-9_:.\-]{1,40})", re.IGNORECASE
)
_UTF_16_LE = re.compile(rb"<\0[!?a-zA-Z]\0")
_UTF_16_BE = re.compile(rb"\0<\0[!?a-zA-Z]")


class Declaration(NamedTuple):
    """What a page says of its charset."""

    charset: str | None = None
    """None where it says nothing that a browser would heed."""
    hint: str | None = None
    """What it says where browsers do not look, in a meta tag of another name: better than a
    guess."""


def declared_charset(body: bytes) -> Declaration:
    """What the page says in its first bytes; names of no charset are passed over."""
    start = body[:_PRESCAN]
    if _UTF_16_LE.match(start):
        return Declaration("utf-16le")
    if _UTF_16_BE.match(start):
        return Declaration("utf-16be")
    in_xml = _IN_XML.match(start)
    if in_xml and (charset := charset_named(in_xml[1].decode("ascii"))):
        return Declaration(_readable(charset))
    return _in_meta(start) if b"charset" in start.lower() else Declaration()


def charset_parameter(text: str) -> str | None:
    """The charset of a Content-Type; None where it names none."""
    match = _CHARSET.search(text)
    return None if match is None else charset_named(match[1])


def _in_meta(start: bytes) -> Declaration:
    hint = None
    for token in _TOKEN.finditer(start):
        slash, name, written = token.groups()
        if slash or name is None or name.lower() != b"meta":
            continue
        attributes = attributes_of(written.decode("latin-1"))
        charset = charset_named(attributes.get("charset") or "")
        if charset is None and (content := attributes.get("content")):
            charset = charset_parameter(content)
            if (attributes.get("http-equiv") or "").lower() != "content-type":
                hint, charset = hint or charset, None
        if charset is not None:
            return Declaration(WINDOWS_1252 if charset == "x-user-defined" else _readable(charset))
    return Declaration(None, hint)


def _readable(charset: str) -> str:
    """UTF-8 for UTF-16, in which the declaration could not have been read."""
    return UTF_8 if charset in UTF_16 else charset
