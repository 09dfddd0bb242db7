"""Blocks as plain text or as Markdown, and where their headings begin."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from crawl.exporting.page.blocks import BOLD, BREAK, CODE, ITALIC, MARKS, Block, Kind


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
_SHORTEST = 2
"""Characters of the marker `-` and the blank behind it."""
_SPELLED = {BOLD: "**", ITALIC: "*", CODE: "`"}


def as_text(blocks: Sequence[Block]) -> Rendered:
    """The blocks as text: a block a line, a blank line before each that is no item of a list;
    cells of a table are separated by ` | `."""
    return _rendered(blocks, _plain_block)


def as_markdown(blocks: Sequence[Block]) -> Rendered:
    """The blocks as Markdown of GitHub's flavour. Links are their texts, pictures are left
    out."""
    return _rendered(blocks, _MarkdownSpeller().spelled)


def _rendered(blocks: Sequence[Block], spell: Callable[[Block], str]) -> Rendered:
    pieces: list[str] = []
    headings: list[Heading] = []
    length = 0
    before: Block | None = None
    for block in blocks:
        text = spell(block)
        if not text:
            continue
        if before is not None:
            gap = "\n" if before.depth and block.depth and _is_tight(block) else "\n\n"
            pieces.append(gap)
            length += len(gap)
        if block.level:
            headings.append(Heading(length, block.level, plain(block.text).replace("\n", " ")))
        pieces.append(text)
        length += len(text)
        before = block
    return Rendered("".join(pieces), tuple(headings))


def _is_tight(block: Block) -> bool:
    return block.kind is Kind.ITEM and bool(block.marker)


def plain(text: str) -> str:
    """A block's text without marks."""
    if not _MARK.search(text):
        return text
    text = text.translate(_PLAIN)
    return _LINE_BLANKS.sub("\n", text).strip() if "\n" in text else text.strip()


def _plain_block(block: Block) -> str:
    if block.kind is Kind.TABLE:
        return "\n".join(" | ".join(_one_line(plain(cell)) for cell in row) for row in block.rows)
    if block.kind is Kind.CODE:
        return block.text
    return plain(block.text)


def _one_line(text: str) -> str:
    return text.replace("\n", " ")


class _MarkdownSpeller:
    """Spells one block after the other: what is inside an item begins where the item's own text
    does, behind markers of any length."""

    def __init__(self) -> None:
        self._markers: list[int] = []
        """How long the markers are of the items that are open, outermost first."""

    def spelled(self, block: Block) -> str:
        depth = block.depth
        if not depth:
            self._markers.clear()
            return _markdown_block(block, "")
        outside = depth - 1 if block.marker else depth
        del self._markers[depth:]
        self._markers += [_SHORTEST] * (depth - len(self._markers))
        indent = " " * sum(self._markers[:outside])
        if block.marker:
            self._markers[outside:] = [len(block.marker) + 1]
        return _markdown_block(block, indent)


def _markdown_block(block: Block, indent: str) -> str:
    if block.kind is Kind.CODE:
        longest = max((len(found[0]) for found in _FENCE.finditer(block.text)), default=2)
        fence = "`" * (longest + 1)
        text = f"{fence}{block.language}\n{block.text}\n{fence}"
    elif block.kind is Kind.TABLE:
        text = _table(block.rows)
    elif block.level:
        return f"{'#' * block.level} {_one_line(plain(block.text))}"
    else:
        text = _inline(block.text)
    if block.depth:
        first = f"{indent}{block.marker} " if block.marker else indent
        text = first + text.replace("\n", "\n" + " " * len(first))
    if block.quotes:
        quote = "> " * block.quotes
        text = quote + text.replace("\n", f"\n{quote}")
    return text


def _inline(text: str) -> str:
    """Marks as Markdown spells them: pairs that have something between them, inside of which
    blanks are no part of the emphasis."""
    if not _MARK.search(text):
        return text
    pieces: list[str] = []
    opened: dict[str, int] = {}
    at = 0
    for found in _MARK.finditer(text):
        mark, piece = found[0], text[at : found.start()]
        pieces.append(piece)
        at = found.end()
        if mark == BREAK:
            pieces.append("\n")
        elif mark not in opened:
            opened[mark] = len(pieces)
            pieces.append("")
        else:
            _close(pieces, opened.pop(mark), mark)
    pieces.append(text[at:])
    joined = "".join(pieces)
    return _LINE_BLANKS.sub("\n", joined).strip() if "\n" in joined else joined.strip()


def _close(pieces: list[str], start: int, mark: str) -> None:
    inside = "".join(pieces[start + 1 :])
    words = inside.strip()
    spelled = _SPELLED[mark]
    if not words or "\n" in words or spelled[0] in words:
        return  # nothing, or nothing that Markdown could say so
    lead = inside[: len(inside) - len(inside.lstrip())]
    tail = inside[len(inside.rstrip()) :]
    pieces[start:] = [f"{lead}{spelled}{words}{spelled}{tail}"]


def _table(rows: list[list[str]]) -> str:
    width = max(map(len, rows))
    lines = [_row(row, width) for row in rows]
    lines.insert(1, "|" + " --- |" * width)
    return "\n".join(lines)


def _row(cells: list[str], width: int) -> str:
    texts = [_one_line(_inline(cell)).replace("|", "\\|") for cell in cells]
    texts += [""] * (width - len(texts))
    return "| " + " | ".join(texts) + " |"
