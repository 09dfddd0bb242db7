"""OutlineReader: makes the outline of a page of its elements and texts, given in document order.

Nothing is decided here but what a block is: whether a block belongs to the main content is seen
only when all of them are known.
"""

from __future__ import annotations

from crawl.html.tokens import VOID, Attributes
from crawl.maincontent.blocks import BREAK, MAX_DEPTH, Block, Container, Kind, Outline
from crawl.maincontent.elements import (
    BLOCKS,
    CONTAINERS,
    ENCLOSURES,
    HEADINGS,
    HIDDEN,
    PHRASES,
    PICTURES,
    is_hidden,
    is_target,
)
from crawl.maincontent.enclosures import Enclosures
from crawl.maincontent.names import Role, role_of_names
from crawl.maincontent.phrases import Phrases
from crawl.maincontent.table_cells import OpenTable

_NO_LINK = -1
"""In place of the container around an `a` that is no link."""


class OutlineReader:
    """Reads one page: call `start`, `text` and `end` in document order, then take `outline`."""

    def __init__(self) -> None:
        self.outline = Outline()
        self._phrases = Phrases()
        self._buffer = self._phrases.pieces
        self._link_length = 0
        self._links = 0
        self._hidden = 0
        self._container = 0
        self._code = 0
        self._code_language = ""
        self._heading = 0
        self._enclosures = Enclosures()
        self._tables: list[OpenTable] = []
        self.nodes = 0
        self._open: list[tuple[str, bool, int]] = []
        """Tag, whether it hides what is in it, and the container around it."""

    # --- what is met -------------------------------------------------------------------
    def start(self, tag: str, attributes: Attributes) -> None:
        self.nodes += 1
        if tag in VOID:
            if not self._hidden:
                self.void(tag)
            return
        hides = tag in HIDDEN or (bool(attributes) and is_hidden(attributes))
        if tag == "math" and attributes.get("alttext") and not self._hidden:
            self.text(f" {attributes['alttext']} ")
            hides = True
        around = self._container
        if hides:
            if tag in PICTURES and not self._hidden:
                self.picture()
            self._hidden += 1
        elif not self._hidden:
            if tag in BLOCKS:
                around = self.start_block(tag, attributes)
            elif tag == "a" and is_target(attributes):
                around = _NO_LINK
            elif tag in PHRASES:
                self.start_phrase(tag, attributes)
        self._open.append((tag, hides, around))

    def end(self, tag: str) -> None:
        opened, hides, around = self._open.pop()
        assert opened == tag
        if hides:
            self._hidden -= 1
        elif not self._hidden:
            if tag in BLOCKS:
                self.end_block(tag, around)
            elif tag in PHRASES and around != _NO_LINK:
                self.end_phrase(tag)

    def void(self, tag: str) -> None:
        """Reads an element that has no content."""
        if tag == "br":
            self._buffer.append("\n" if self._code else BREAK)
        elif tag == "hr":
            self._flush()
        elif tag == "img":
            self.picture()

    def picture(self) -> None:
        """Notes that there is one in the container that is open."""
        self.outline.containers[self._container].has_picture = True

    def start_phrase(self, tag: str, attributes: Attributes) -> None:
        """Reads the start of a link, of emphasis, or of what is set higher or lower."""
        if tag == "a":
            self._links += 1
            return
        if self._code and attributes:
            self._note_language(attributes)
        self._phrases.start(tag)

    def end_phrase(self, tag: str) -> None:
        if tag == "a":
            self._links -= 1
        else:
            self._phrases.end(tag)

    def start_block(self, tag: str, attributes: Attributes) -> int:
        """Reads the start of an element that ends a line; returns the container around it, for
        its end."""
        if self._buffer:
            self._flush()
        around = self._container
        if tag in CONTAINERS:
            role = _role(tag, attributes, self._is_inside_main())
            names = (attributes.get("class") or "") if attributes else ""
            self.outline.containers.append(Container(around, tag, role, names))
            self._container = len(self.outline.containers) - 1
        if tag in ENCLOSURES:
            self._enclosures.start(tag, attributes)
        elif tag in HEADINGS:
            self._heading = HEADINGS[tag]
        elif tag == "pre":
            self._code += 1
            self._note_language(attributes)
        elif tag == "table":
            around_it = self._enclosures.current
            items = 0 if around_it is None else around_it.items
            self._tables.append(OpenTable(len(self.outline.blocks), items))
        elif self._tables:
            self._tables[-1].start(tag, len(self.outline.blocks))
        return around

    def text(self, data: str) -> None:
        self.nodes += 1
        if self._hidden or (not self._buffer and not self._code and data.isspace()):
            return
        self._buffer.append(data)
        if self._links:
            self._link_length += len(data)

    def end_block(self, tag: str, around: int) -> None:
        if self._buffer:
            self._flush()
        if tag in ENCLOSURES:
            self._enclosures.end()
        elif tag == "pre":
            self._code -= 1
        elif tag in HEADINGS:
            self._heading = 0
        elif tag == "table" and self._tables:
            self._end_table(self._tables.pop())
        elif self._tables:
            self._tables[-1].end(tag, len(self.outline.blocks))
        self._container = around

    def finish(self, *, is_cut: bool = False) -> Outline:
        """The outline of what was read."""
        self._flush()
        self._enclosures.finish()
        self.outline.is_cut = is_cut
        return self.outline

    # --- blocks ------------------------------------------------------------------------
    def _flush(self) -> None:
        """Ends the block that is open, if it has any text."""
        buffer = self._buffer
        if not buffer:
            return
        links, self._link_length = self._link_length, 0
        text = self._phrases.take(self._code > 0)
        if not text:
            return
        enclosure = self._enclosures.current
        kind = Kind.PARAGRAPH
        if links and not self._code:
            text = text.removesuffix("¶").rstrip() or text  # a link to the place itself
        if self._heading:
            kind = Kind.HEADING
        elif self._code:
            kind = Kind.CODE
        elif enclosure is not None and enclosure.items:
            kind = Kind.ITEM
        block = Block(kind, text, self._container, min(links, len(text)) if links else 0)
        block.level = self._heading
        block.enclosure = enclosure
        if kind is Kind.CODE:
            block.language, self._code_language = self._code_language, ""
        if self._heading == 1:
            self._note_h1()
        self.outline.blocks.append(block)

    def _note_h1(self) -> None:
        containers, at = self.outline.containers, self._container
        while at >= 0 and not containers[at].has_h1:
            containers[at].has_h1 = True
            at = containers[at].parent

    def _note_language(self, attributes: Attributes) -> None:
        for name in (attributes.get("class") or "").split()[:20]:
            kind, _, language = name.partition("-")
            if kind in ("language", "lang") and language.isalnum() and len(language) < 20:
                self._code_language = language

    def _is_inside_main(self) -> bool:
        containers, at = self.outline.containers, self._container
        for _ in range(MAX_DEPTH):
            if at < 0:
                return False
            if containers[at].role is Role.MAIN:
                return True
            at = containers[at].parent
        return False

    def _end_table(self, table: OpenTable) -> None:
        """Makes one block of a table of data; one that only lays out the page stays blocks."""
        blocks = self.outline.blocks
        rows = table.rows_of(blocks)
        if not rows:
            return
        inside = blocks[table.first :]
        del blocks[table.first :]
        text = " ".join(each.text for each in inside)
        block = Block(Kind.TABLE, text, self._container, sum(each.link_length for each in inside))
        block.rows = rows
        block.enclosure = self._enclosures.current
        blocks.append(block)


def _role(tag: str, attributes: Attributes, inside_main: bool) -> Role:
    if not attributes:
        return role_of_names(tag, "", "", "", inside_main)
    return role_of_names(
        tag,
        (attributes.get("class") or "")[:300],
        (attributes.get("id") or "")[:100],
        (attributes.get("role") or "")[:30],
        inside_main,
    )
