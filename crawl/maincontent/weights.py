"""What the containers of a page hold: how much text, how much of it in links, and how much that
looks like running text."""

from __future__ import annotations

from dataclasses import dataclass

from crawl.maincontent.blocks import Block, Kind, Outline

_LONG_PARAGRAPH = 80
"""Characters of running text."""
LONG_ITEM = 60
FEW_LINKS = 0.1
SOME_LINKS = 0.33
"""Shares of characters that are in links."""
MOST = 0.5
NEARLY_ALL = 0.8
ENOUGH = 200
"""Characters of a main content that is believed."""
_FEWEST_LINES = 4
_SHORTEST_VERSE = 120
"""Short lines beside each other, and their characters, that are a poem or the like."""


@dataclass(frozen=True, slots=True)
class Weights:
    """Of each container, with all that is in it."""

    length: list[int]
    links: list[int]
    good: list[int]
    """Characters of what looks like running text, verse, code or data."""
    shown: list[int]
    """Characters of code, tables, items and quotations."""


def weigh(outline: Outline) -> Weights:
    containers = outline.containers
    count = len(containers)
    length, links, good, shown = [0] * count, [0] * count, [0] * count, [0] * count
    lines, verse = [0] * count, [0] * count
    """Short lines that lie in a container, and their characters."""
    for block in outline.blocks:
        size, at = len(block.text), block.container
        length[at] += size
        links[at] += block.link_length
        if block.kind >= Kind.ITEM or block.enclosure is not None:
            shown[at] += size
        if _is_good(block, size):
            good[at] += size
        elif not block.level and not block.link_length:
            lines[at] += 1
            verse[at] += size
    for at in range(count - 1, 0, -1):
        parent = containers[at].parent
        if lines[at] == 1 and length[at] == verse[at]:  # a line in an element of its own
            lines[parent] += 1
            verse[parent] += verse[at]
        elif lines[at] >= _FEWEST_LINES and verse[at] >= _SHORTEST_VERSE:
            good[at] += verse[at]
        length[parent] += length[at]
        links[parent] += links[at]
        good[parent] += good[at]
        shown[parent] += shown[at]
    if lines[0] >= _FEWEST_LINES and verse[0] >= _SHORTEST_VERSE:
        good[0] += verse[0]
    return Weights(length, links, good, shown)


def _is_good(block: Block, size: int) -> bool:
    kind = block.kind
    if kind is Kind.CODE:
        return True
    if kind is Kind.HEADING or block.link_length > SOME_LINKS * size:
        return False
    if kind is Kind.PARAGRAPH:
        return size >= _LONG_PARAGRAPH
    return size >= LONG_ITEM


def has_running_text(blocks: list[Block]) -> bool:
    """Whether enough of them looks like running text."""
    length = 0
    for block in blocks:
        if _is_good(block, len(block.text)):
            length += len(block.text)
            if length >= ENOUGH:
                return True
    return False
