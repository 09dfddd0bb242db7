"""Tells before parsing which pages would make a real HTML parser run wild.

lexbor's time grows with the square of a page's depth (20,000 nested tags: 0.8 s) and of the
attributes of one tag (20,000: 1 s); formatting elements that are left open are opened anew in
every block (13 kB of markup: a million elements, 370 MB). The measures here are upper bounds
that cost some µs for an ordinary page; only large pages are looked at tag by tag.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from crawl.html.tokens import Token, attribute_count, is_empty, names_in, tokens

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

_BLOCK = 4_096
"""Bytes; a tag that could hurt fills one, wherever it starts."""
_START = re.compile(rb"<[A-Za-z]")

_FORMATTING = names_in("a b big code em font i nobr s small strike strong tt u")
_ALIKE = 3 * len(_FORMATTING)
"""Of formatting elements that are alike, three are kept open, says the HTML standard."""
_WITH_ATTRIBUTES = re.compile(rb"<(?:[bisu]|big|code|em|font|small|strike|strong|tt)[\s/]", re.I)

_UNCLOSED = names_in(
    "body colgroup dd dt head html li optgroup option p rp rt tbody td tfoot th thead tr"
)
"""Elements that the next of their kind ends: they deepen a page only inside of others."""

Positions = np.ndarray[tuple[int], np.dtype[np.int64]]


def is_safe_markup(data: bytes) -> bool:
    """Whether a page, in UTF-8, can be given to an HTML parser."""
    octets = np.frombuffer(data, np.uint8)
    if _is_plain(data, octets):
        return True
    angles = np.flatnonzero(octets[:-1] == ord("<"))
    behind = octets[angles + 1] | 0x20
    starts = angles[(behind >= ord("a")) & (behind <= ord("z"))]
    tags = len(starts)
    if len(data) > _WINDOW and _has_crowded_tag(data, starts):
        return False
    if tags * len(angles) <= _MAX_WORK:
        if tags <= _FEW_TAGS:
            return True
        unlike = sum(1 for _ in _WITH_ATTRIBUTES.finditer(data))
        if tags * (_ALIKE + unlike) <= _MAX_ELEMENTS:
            return True
    return _is_shallow(data.decode("utf-8", "replace"))


def _is_plain(data: bytes, octets: npt.NDArray[np.uint8]) -> bool:
    """Whether a page is tame at a glance, as most are: it has few tags, and in no place so
    few that one of them could be long."""
    angles = octets == ord("<")
    tags = count = int(np.count_nonzero(angles))
    if tags > _FEW_TAGS:
        tags = int(np.count_nonzero(angles[:-1] & (octets[1:] != ord("/"))))
    if tags > _FEW_TAGS or tags * count > _MAX_WORK:
        return False
    if len(data) <= _WINDOW:
        return True
    for block in range(0, len(data) - _BLOCK + 1, _BLOCK):
        end = block + _BLOCK
        if data.find(b">", block, end) < 0 or _START.search(data, block, end) is None:
            return False
    return data.rfind(b">", len(data) - _BLOCK) >= 0


def _has_crowded_tag(data: bytes, starts: Positions) -> bool:
    """Whether a tag has thousands of attributes."""
    far_from_next = starts[np.diff(starts, append=len(data)) > _WINDOW]
    """Where long tags start that have no other tag in quotes."""
    behind = 0
    for start in sorted({*map(int, far_from_next), *_without_end(data, starts)}):
        if start >= behind:
            count, behind = attribute_count(data, start)
            if count > _MAX_ATTRIBUTES:
                return True
    return False


def _without_end(data: bytes, starts: Positions) -> Iterator[int]:
    """Where long tags start that have no `>` in quotes. One that has both is left to the
    deadline."""
    last = 0
    for window in range(0, len(data), _WINDOW):
        place = data.rfind(b">", window, window + _WINDOW)
        if place < 0:
            which = int(np.searchsorted(starts, last))
            if which < len(starts):
                yield int(starts[which])
        else:
            last = place


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
