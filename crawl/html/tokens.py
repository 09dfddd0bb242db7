"""Tags and text of a page in one pass whose time is linear in its length, whatever is in it.

For pages on which a real HTML parser would take seconds or gigabytes (`guard`): the
tags are read as the HTML standard reads them, but no tree is built, only nesting kept up.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from enum import Enum
from itertools import islice
from typing import Protocol

Attributes = Mapping[str, str | None]
"""Names are lower-case; None for an attribute that has no value."""


class TreeHandler(Protocol):
    """Who takes a page in document order: each start has its end, well nested, unless the
    element is one of `VOID`."""

    def start(self, tag: str, attributes: Attributes) -> None: ...
    def end(self, tag: str) -> None: ...
    def text(self, data: str) -> None: ...


class Token(Enum):
    START = 0
    END = 1
    TEXT = 2


def names_in(*lines: str) -> frozenset[str]:
    """The names in some lines."""
    return frozenset(" ".join(lines).split())


VOID = names_in(
    "area base basefont bgsound br col embed frame hr img input keygen link meta param source",
    "track wbr",
)
"""Elements that have no content, and no end."""
_SHAPES = names_in("animate circle ellipse image line path polygon polyline rect stop use")
"""Elements of SVG that pages write as `<path …/>`: there, the slash counts."""
_VERBATIM = frozenset(("iframe", "noembed", "noframes", "plaintext", "script", "style", "xmp"))
_ONLY_TEXT = frozenset(("textarea", "title"))

_KEPT = _VERBATIM | _ONLY_TEXT | {"a"}
"""Elements that are never nested in each other, and whose text is wanted at any depth."""

MAX_DEPTH = 256
"""Elements below it are taken as empty, beside each other."""
_MAX_ATTRIBUTES = 100

_ATTRIBUTE = (
    r"[\s/]*+({name}[^\s/>][^\s/>=]*+)"
    r"(?:\s*+=\s*+(?:\"({value}[^\"]*+)\"|'({value}[^']*+)'|({value}[^\s>\"'][^\s>]*+))?+)?+"
)
TAG = rf"<(/?)([a-zA-Z][^\s/>]*+)((?:{_ATTRIBUTE.format(name='?:', value='?:')})*+[\s/]*+)>?"
"""The pattern of a tag: its slash, name and attributes."""
_TAG = re.compile(TAG)
_ATTRIBUTES = re.compile(_ATTRIBUTE.format(name="", value=""))
_TAG_OF_BYTES = re.compile(TAG.encode())
_ATTRIBUTES_OF_BYTES = re.compile(_ATTRIBUTES.pattern.encode())
_ENDS = {tag: re.compile(rf"</{tag}(?=[\s/>])", re.IGNORECASE) for tag in _VERBATIM | _ONLY_TEXT}


def tokens(markup: str) -> Iterator[tuple[Token, str, str]]:
    """Each tag as (what, name, its attributes as written), each text as (what, text, "")."""
    at = 0
    while (start := markup.find("<", at)) >= 0:
        if start > at:
            yield Token.TEXT, _unescape(markup[at:start]), ""
        tag = _TAG.match(markup, start)
        if tag is None:
            at = start + 1
            if markup.startswith(("!", "?", "/"), at):
                at = _after_comment(markup, start)
            else:
                yield Token.TEXT, "<", ""
            continue
        at = tag.end()
        name = tag[2].lower()
        yield Token.END if tag[1] else Token.START, name, tag[3]
        if not tag[1] and name in _ENDS:
            end = _ENDS[name].search(markup, at) if name != "plaintext" else None
            stop = len(markup) if end is None else end.start()
            inside = markup[at:stop]
            yield Token.TEXT, inside if name in _VERBATIM else _unescape(inside), ""
            at = stop
    if at < len(markup):
        yield Token.TEXT, _unescape(markup[at:]), ""


def attributes_of(written: str) -> dict[str, str | None]:
    """The attributes of a tag; of many, the first."""
    attributes: dict[str, str | None] = {}
    for each in islice(_ATTRIBUTES.finditer(written), _MAX_ATTRIBUTES):
        name, *values = each.groups()
        value = next((value for value in values if value is not None), None)
        attributes.setdefault(name.lower(), None if value is None else _unescape(value))
    return attributes


def attribute_count(data: bytes, start: int) -> tuple[int, int]:
    """How many attributes the tag has that starts there, and where it ends."""
    tag = _TAG_OF_BYTES.match(data, start)
    if tag is None:
        return 0, start + 1
    return sum(1 for _ in _ATTRIBUTES_OF_BYTES.finditer(tag[3])), tag.end()


def is_empty(tag: str, written: str) -> bool:
    """Whether a start tag opens nothing."""
    return tag in VOID or (tag in _SHAPES and written.endswith("/"))


def feed(markup: str, handler: TreeHandler) -> None:
    """Gives the page to the handler, each start with its end."""
    open_tags: list[str] = []
    opened: Counter[str] = Counter()
    too_deep: Counter[str] = Counter()
    templates = 0

    def close(tag: str) -> None:
        while True:
            last = open_tags.pop()
            opened[last] -= 1
            handler.end(last)
            if last == tag:
                return

    for what, value, written in tokens(markup):
        if templates or value == "template":  # its content is no part of the page
            if value == "template" and what is not Token.TEXT:
                templates = max(0, templates + (1 if what is Token.START else -1))
                continue
            if templates:
                continue
        if what is Token.TEXT:
            handler.text(value)
        elif what is Token.START:
            if value == "a" and opened["a"]:
                close("a")
            handler.start(value, attributes_of(written))
            if is_empty(value, written):
                if value not in VOID:
                    handler.end(value)
            elif len(open_tags) < MAX_DEPTH or value in _KEPT:
                open_tags.append(value)
                opened[value] += 1
            else:
                too_deep[value] += 1
                handler.end(value)
        elif too_deep[value]:
            too_deep[value] -= 1
        elif opened[value]:
            close(value)
    while open_tags:
        handler.end(open_tags.pop())


def _after_comment(markup: str, start: int) -> int:
    """Behind a comment, or behind what is taken for one: `<!…>`, `<?…>`, `</3>`."""
    ending = "-->" if markup.startswith("<!--", start) else ">"
    place = markup.find(ending, start + 2)
    return len(markup) if place < 0 else place + len(ending)


def _unescape(text: str) -> str:
    text = text.replace("\0", "")
    if "&" not in text:
        return text
    try:
        return html.unescape(text)
    except ValueError:  # a character's number of thousands of digits
        return text
