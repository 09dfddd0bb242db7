"""Tells before parsing which pages would make a real HTML parser run wild.

lexbor's time grows with the square of a page's depth (100,000 nested tags: 20 s) and of the
attributes of one tag (20,000: 1 s); formatting elements that are left open are opened anew in
every block (13 kB of markup: a million elements, 370 MB). The measures here are upper bounds
that cost some µs for an ordinary page; only large pages are looked at tag by tag.
"""

from __future__ import annotations

import re
from collections import Counter

import numpy as np

from crawl.interfaces.html_tokens import Token, attribute_count, is_empty, tokens

_FEW_TAGS = 1_200
"""At worst a third of a million elements."""
_MAX_WORK = 200_000_000
"""Tags times depth; 10,000 tags nested in each other and ended again: 0.5 s."""
_MAX_ELEMENTS = 1_000_000
_MAX_DEPTH = 500
_MAX_ATTRIBUTES = 4_000
_MAX_ROOTS = 200
_WINDOW = 8_192
"""Bytes; a tag that fills none has too few attributes to hurt."""

_FORMATTING = frozenset(
    (
        *("a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong"),
        *("tt", "u"),
    )
)
_ALIKE = 3 * len(_FORMATTING)
"""Of formatting elements that are alike, three are kept open, says the HTML standard."""
_WITH_ATTRIBUTES = re.compile(rb"<(?:[bisu]|big|code|em|font|small|strike|strong|tt)[\s/]", re.I)
_TAG_START = re.compile(rb"<[a-zA-Z]")

_UNCLOSED = frozenset(
    (
        *("body", "colgroup", "dd", "dt", "head", "html", "li", "optgroup", "option", "p", "rp"),
        *("rt", "tbody", "td", "tfoot", "th", "thead", "tr"),
    )
)
"""Elements that the next of their kind ends: they deepen a page only inside of others."""


def is_tame(data: bytes) -> bool:
    """Whether a page, in UTF-8, can be given to an HTML parser."""
    if any(
        data.find(b">", start, start + _WINDOW) < 0
        for start in range(0, len(data) - _WINDOW, _WINDOW)
    ) and _may_have_crowded_tag(data):
        return False
    octets = np.frombuffer(data, np.uint8)
    behind = octets[np.flatnonzero(octets[:-1] == ord("<")) + 1] | 0x20
    tags = int(np.count_nonzero((behind >= ord("a")) & (behind <= ord("z"))))
    if tags * len(behind) <= _MAX_WORK:
        if tags <= _FEW_TAGS:
            return True
        unlike = sum(1 for _ in _WITH_ATTRIBUTES.finditer(data))
        if tags * (_ALIKE + unlike) <= _MAX_ELEMENTS:
            return True
    return _is_shallow(data.decode("utf-8", "replace"))


def _may_have_crowded_tag(data: bytes) -> bool:
    """Whether a tag may have thousands of attributes."""
    for piece in data.split(b">"):
        if len(piece) > _WINDOW:
            tag = _TAG_START.search(piece)
            if tag is not None:
                written = piece[tag.end() :].decode("latin-1")
                if attribute_count(written) > _MAX_ATTRIBUTES:
                    return True
    return False


def _is_shallow(markup: str) -> bool:
    """Keeps count of what is open, tag by tag."""
    opened: Counter[str] = Counter()
    depth = formatting = elements = roots = 0
    for what, name, written in tokens(markup):
        if name in ("html", "body"):  # each adds its attributes to those of the first
            roots += 1
            if roots > _MAX_ROOTS:
                return False
        if what is Token.TEXT or name in _UNCLOSED:
            elements += formatting if what is Token.START else 0
            continue
        if what is Token.START:
            elements += 1 + formatting
            if is_empty(name, written) or (name == "a" and opened["a"]):
                continue
            change = 1
        elif opened[name]:
            change = -1
        else:
            continue
        opened[name] += change
        depth += change
        if name in _FORMATTING:
            formatting += change
        if depth > _MAX_DEPTH or elements > _MAX_ELEMENTS:
            return False
    return True
