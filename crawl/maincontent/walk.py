"""From markup to the outline of a page: over lexbor's tree, or over the tags alone where the page
would harm a tree's builder (crawl/html/guard.py)."""

from __future__ import annotations

import re
from typing import Any

from selectolax.lexbor import LexborHTMLParser, LexborNode

from crawl.html.guard import is_safe_markup
from crawl.html.tokens import VOID, Attributes, feed
from crawl.maincontent.blocks import Outline
from crawl.maincontent.elements import (
    BLOCKS,
    CONTAINERS,
    HIDDEN,
    PHRASES,
    PICTURES,
    is_hidden,
    is_target,
)
from crawl.maincontent.mathml import formula_text
from crawl.maincontent.outline import OutlineReader

MAX_NODES = 300_000
"""Elements and texts that are read of a page."""
_ALWAYS_AROUND = frozenset(("nav", "footer"))
_SKIPPED = HIDDEN | {"math", "-comment"}
"""Elements whose parts are not read one by one."""
_NO_ATTRIBUTES: Attributes = {}
_ASKED = CONTAINERS | {"pre"}
"""Blocks whose attributes are looked at; for each of them that costs a microsecond."""
_OFTEN_HIDDEN = frozenset(("p", "li", "h1", "h2", "h3", "h4", "dd", "dt", "tr"))
_ASKED_TOO = _ASKED | _OFTEN_HIDDEN
_ASKED_AND_ITEMS = _ASKED | {"li"}
_FORMULA_AGAIN = "katex-html"
"""The name of spans that show what a `math` beside them says."""
_NUMBERED = re.compile(rb"<li\s[^>]{0,200}?value")
_TARGET = re.compile(rb"<a\s(?=[^>]{0,200}?\b(?:id|name)\b)(?![^>]{0,400}?\bhref\b)")
_CONTROLS = bytes((*range(9), 11, *range(14, 32)))
_REFERENCE = re.compile(
    rb"&#(?:0*(?:[0-8]|11|1[4-9]|2\d|3[01])(?!\d)|[xX]0*(?:[0-8bBe-fE-F]|1[\da-fA-F])(?![\da-fA-F]));?"
)
"""To a control character."""


def outline_of(
    data: bytes, *, everything: bool = False, tree: LexborHTMLParser | None = None
) -> Outline:
    """The outline of a page in valid UTF-8, in time that is linear in its length; without what
    is in `nav` and `footer`, unless `everything` is asked for. `tree`: lexbor's of it, by whoever
    has made sure that it can be made."""
    reader = OutlineReader()
    cleaned = _without_marks(data)
    if cleaned != data:
        data, tree = cleaned, None
    if tree is None and is_safe_markup(data):
        tree = LexborHTMLParser(data)
    if tree is not None:
        asked = _asked(data.lower())
        skipped = _SKIPPED if everything else _SKIPPED | _ALWAYS_AROUND
        return reader.finish(is_cut=not _walk(tree.root, reader, asked, skipped))
    full = _Full()
    try:
        feed(data.decode("utf-8", "replace"), _Bounded(reader, full))
    except _Full:
        return reader.finish(is_cut=True)
    return reader.finish()


def _walk(
    root: LexborNode | None, reader: OutlineReader, asked: frozenset[str], skipped: frozenset[str]
) -> bool:
    """Gives lexbor's tree to the reader, without recursion; whether it was read to its end.
    Nothing is called for elements that mean nothing, and nothing inside of hidden ones."""
    text, start_block, end_block = reader.text, reader.start_block, reader.end_block
    above: list[tuple[LexborNode, str, int]] = []
    node: Any = root
    steps = 0
    while node is not None:
        steps += 1
        if steps > MAX_NODES:
            return False
        tag = node.tag
        around = -1
        if tag == "-text":
            text(node.text_content or "")
            following = node.next
        elif tag in skipped:
            if tag == "math":
                text(formula_text(node))
            elif tag in PICTURES:
                reader.picture()
            following = node.next
        elif tag in VOID:
            if tag in ("br", "hr", "img"):
                reader.void(tag)
            following = node.next
        else:
            following = node.first_child
            if tag in BLOCKS:
                attributes = node.attributes if tag in asked else _NO_ATTRIBUTES
                if attributes and is_hidden(attributes):
                    above.append((node, "", -1))
                    following = None
                else:
                    around = start_block(tag, attributes)
                    above.append((node, tag, around))
            elif tag == "a" and tag in asked and is_target(node.attributes):
                above.append((node, "", -1))
            elif tag in PHRASES:
                reader.start_phrase(tag, node.attributes if tag == "code" else _NO_ATTRIBUTES)
                above.append((node, tag, -1))
            else:
                if tag in asked and _FORMULA_AGAIN in (node.attributes.get("class") or ""):
                    following = None
                above.append((node, "", -1))
        while following is None and above:
            node, tag, around = above.pop()
            if around >= 0:
                end_block(tag, around)
            elif tag:
                reader.end_phrase(tag)
            following = node.next if above else None
        node = following
    return True


class _Full(Exception):
    """The page has more than is read of one."""


class _Bounded:
    """Gives a reader what it may read, and then raises."""

    def __init__(self, reader: OutlineReader, full: _Full) -> None:
        self._reader = reader
        self._full = full
        self.text = reader.text
        self.end = reader.end

    def start(self, tag: str, attributes: Attributes) -> None:
        if self._reader.nodes > MAX_NODES:
            raise self._full
        self._reader.start(tag, attributes)


def _asked(lowered: bytes) -> frozenset[str]:
    """The elements whose attributes are looked at on this page, in small letters."""
    asked = _ASKED
    if b"hidden" in lowered or b"display" in lowered:
        asked = _ASKED_TOO
    elif b"value" in lowered and _NUMBERED.search(lowered):
        asked = _ASKED_AND_ITEMS
    if _TARGET.search(lowered):
        asked |= {"a"}
    return asked | {"span"} if _FORMULA_AGAIN.encode() in lowered else asked


def _without_marks(data: bytes) -> bytes:
    """Without control characters, of which ours are among the text's, and without references to
    such."""
    data = data.translate(None, _CONTROLS)
    return _REFERENCE.sub(b"", data) if b"&#" in data else data
