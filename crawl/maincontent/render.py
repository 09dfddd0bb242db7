"""Blocks as plain text or as Markdown, and where their headings begin."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from crawl.maincontent.blocks import BOLD, BREAK, CODE, ITALIC, MARKS, STRIKE, Block, Kind
from crawl.maincontent.markdown import cell, heading, inline
from crawl.maincontent.phrases import without_struck
from crawl.maincontent.prefixes import Place, Places, plain_gap


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


_PLAIN = str.maketrans({BOLD: None, ITALIC: None, CODE: None, STRIKE: None, BREAK: "\n"})
_MARK = re.compile(f"[{MARKS}]")
_LINE_BLANKS = re.compile("\\s*\n\\s*")
_BLANKS = re.compile("  +")
_FENCE = re.compile("`{3,}")
_Speller = Callable[[Block], str]


def as_text(blocks: Sequence[Block]) -> Rendered:
    """The blocks as text: a block a line, a blank line before each that is no item of a list;
    cells of a table are separated by ` | `. What the page strikes out is left out."""
    return _rendered(blocks, _plain_block, is_markdown=False)


def as_markdown(blocks: Sequence[Block]) -> Rendered:
    """The blocks as Markdown of GitHub's flavour. Links are their texts, pictures are left
    out."""
    return _rendered(blocks, _markdown_block, is_markdown=True)


def _rendered(blocks: Sequence[Block], spell: _Speller, *, is_markdown: bool) -> Rendered:
    pieces: list[str] = []
    headings: list[Heading] = []
    length = 0
    places = Places()
    before: Block | None = None
    for block in blocks:
        text = spell(block)
        if not text:
            continue
        if is_markdown:
            place = places.place(block)
            gap = place.gap
            if place.first:
                text = _prefixed(text, place)
        else:
            gap = plain_gap(before, block)
            before = block
        if gap:
            pieces.append(gap)
            length += len(gap)
        if block.level:
            headings.append(Heading(length, block.level, plain(block.text).replace("\n", " ")))
        pieces.append(text)
        length += len(text)
    return Rendered("".join(pieces), tuple(headings))


def _prefixed(text: str, place: Place) -> str:
    if "\n" not in text:
        return place.first + text
    first, *others = text.split("\n")
    blank = place.others.rstrip()
    return "\n".join(
        [place.first + first, *(place.others + each if each else blank for each in others)]
    )


def plain(text: str) -> str:
    """A block's text without marks, and without what is struck out."""
    if not _MARK.search(text):
        return text
    text = _BLANKS.sub(" ", without_struck(text).translate(_PLAIN))
    return _LINE_BLANKS.sub("\n", text).strip() if "\n" in text else text.strip()


def _plain_block(block: Block) -> str:
    if block.kind is Kind.TABLE:
        return "\n".join(" | ".join(map(_plain_cell, row)) for row in block.rows)
    return without_struck(block.text) if block.kind is Kind.CODE else plain(block.text)


def _plain_cell(blocks: list[Block]) -> str:
    return " ".join(plain(block.text) for block in blocks).replace("\n", " ")


def _markdown_block(block: Block) -> str:
    if block.kind is Kind.CODE:
        text = without_struck(block.text)
        longest = max((len(ticks[0]) for ticks in _FENCE.finditer(text)), default=2)
        fence = "`" * (longest + 1)
        return f"{fence}{block.language}\n{text}\n{fence}" if text else ""
    if block.kind is Kind.TABLE:
        return _table(block)
    if block.level:
        title = heading(block.text)
        return f"{'#' * block.level} {title}" if title else ""
    return inline(block.text)


def _table(block: Block) -> str:
    width = max(map(len, block.rows))
    rows = [[cell(each, block.enclosure) for each in row] for row in block.rows]
    lines = ["| " + " | ".join([*row, *[""] * (width - len(row))]) + " |" for row in rows]
    lines.insert(1, "|" + " --- |" * width)
    return "\n".join(lines)
