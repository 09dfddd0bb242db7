"""Blocks as plain text or as Markdown, and where their headings begin."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from crawl.maincontent.blocks import BOLD, BREAK, CODE, ITALIC, MARKS, Block, Kind
from crawl.maincontent.markdown import cell, heading, inline


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading in a text."""

    at: int
    """Where its line begins."""
    level: int
    title: str


@dataclass(frozen=True, slots=True)
class Rendered:
    """A text, and its headings in order."""

    text: str
    headings: tuple[Heading, ...] = ()


_PLAIN = str.maketrans({BOLD: None, ITALIC: None, CODE: None, BREAK: "\n"})
_MARK = re.compile(f"[{MARKS}]")
_LINE_BLANKS = re.compile(" *\n *")
_FENCE = re.compile("`{3,}")


def as_text(blocks: Sequence[Block]) -> Rendered:
    """The blocks as text: a block a line, a blank line before each that is no item of a list;
    cells of a table are separated by ` | `."""
    return _rendered(blocks, _PlainSpeller())


def as_markdown(blocks: Sequence[Block]) -> Rendered:
    """The blocks as Markdown of GitHub's flavour. Links are their texts, pictures are left
    out."""
    return _rendered(blocks, _MarkdownSpeller())


def _rendered(blocks: Sequence[Block], speller: _PlainSpeller) -> Rendered:
    pieces: list[str] = []
    headings: list[Heading] = []
    length = 0
    before: Block | None = None
    for block in blocks:
        gap = "" if before is None else speller.gap(before, block)
        text = speller.spelled(block)
        if not text:
            continue
        if gap:
            pieces.append(gap)
            length += len(gap)
        if block.level:
            headings.append(Heading(length, block.level, plain(block.text).replace("\n", " ")))
        pieces.append(text)
        length += len(text)
        before = block
    return Rendered("".join(pieces), tuple(headings))


def plain(text: str) -> str:
    """A block's text without marks."""
    if not _MARK.search(text):
        return text
    text = text.translate(_PLAIN)
    return _LINE_BLANKS.sub("\n", text).strip() if "\n" in text else text.strip()


class _PlainSpeller:
    """Spells one block after the other as text."""

    def spelled(self, block: Block) -> str:
        if block.kind is Kind.TABLE:
            return "\n".join(" | ".join(map(_plain_cell, row)) for row in block.rows)
        if block.kind is Kind.CODE:
            return block.text
        return plain(block.text)

    def gap(self, before: Block, block: Block) -> str:
        """What stands between two blocks, of which the other is to be spelled next: nothing but
        the end of a line before the items of a list."""
        is_tight = block.kind is Kind.ITEM and block.marker and before.depth
        return "\n" if is_tight else "\n\n"


def _plain_cell(blocks: list[Block]) -> str:
    return " ".join(plain(block.text) for block in blocks).replace("\n", " ")


class _MarkdownSpeller(_PlainSpeller):
    """Spells one block after the other as Markdown: what is inside an item begins where the item's
    own text does, behind markers of any length."""

    def __init__(self) -> None:
        self._markers: list[str] = []
        """The markers of the items that are open, outermost first; none for those that nobody
        sees, such as the ones outside of a quotation or before a heading."""
        self._quotes = 0

    def gap(self, before: Block, block: Block) -> str:
        gap = super().gap(before, block)
        if before.quotes != block.quotes or block.level:
            return "\n\n"
        if gap == "\n" and (self._may_follow(block) or before.level):
            return gap
        if block.quotes and block.depth and any(self._markers):
            # a blank line would end the quotation, and the item in it
            return f"\n{'> ' * block.quotes}".rstrip() + "\n"
        return "\n\n"

    def _may_follow(self, item: Block) -> bool:
        """Whether an item is seen as one behind a line of text: the first of a numbered list only
        if it is number 1."""
        if not any(self._markers):
            return False
        beside = self._markers[item.depth - 1 : item.depth]
        return item.marker in ("-", "1.") or any(each[:1].isdigit() for each in beside)

    def spelled(self, block: Block) -> str:
        depth = block.depth
        if block.quotes != self._quotes or block.level:
            self._markers = [""] * len(self._markers)
        self._quotes = block.quotes
        if not depth:
            self._markers.clear()
            return _markdown_block(block, "")
        outside = depth - 1 if block.marker else depth
        del self._markers[depth:]
        self._markers += [""] * (depth - len(self._markers))
        indent = " " * sum(len(marker) + 1 for marker in self._markers[:outside] if marker)
        if block.marker and not block.level:
            self._markers[outside:] = [block.marker]
        return _markdown_block(block, indent)


def _markdown_block(block: Block, indent: str) -> str:
    if block.kind is Kind.CODE:
        longest = max((len(found[0]) for found in _FENCE.finditer(block.text)), default=2)
        fence = "`" * (longest + 1)
        text = f"{fence}{block.language}\n{block.text}\n{fence}"
    elif block.kind is Kind.TABLE:
        text = _table(block.rows)
    elif block.level:
        text = f"{'#' * block.level} {heading(block.text)}"
    else:
        text = inline(block.text)
    if block.depth and not block.level:
        first = f"{indent}{block.marker} " if block.marker else indent
        text = first + text.replace("\n", "\n" + " " * len(first))
    if block.quotes and not block.level:
        quote = "> " * block.quotes
        text = quote + text.replace("\n", f"\n{quote}")
    return text


def _table(rows: list[list[list[Block]]]) -> str:
    width = max(map(len, rows))
    lines = [_row(row, width) for row in rows]
    lines.insert(1, "|" + " --- |" * width)
    return "\n".join(lines)


def _row(cells: list[list[Block]], width: int) -> str:
    texts = [*map(cell, cells), *[""] * (width - len(cells))]
    return "| " + " | ".join(texts) + " |"
