"""The blocks of a page, and the containers that they lie in."""

from __future__ import annotations

from enum import IntEnum

from crawl.maincontent.names import Role

BOLD, ITALIC, CODE, BREAK = "\x01", "\x02", "\x03", "\x04"
"""Marks inside a block's text; BREAK is a line break that the page asks for."""
MARKS = BOLD + ITALIC + CODE + BREAK
MARKS_AND_BLANK = MARKS + " "

MOST_DEPTH = 64
"""Of lists and quotations that Markdown shows."""


class Kind(IntEnum):
    """What a block is."""

    PARAGRAPH = 0
    HEADING = 1
    ITEM = 2
    CODE = 3
    TABLE = 4


class Block:
    """A block of text. No dataclass: there are hundreds in a page."""

    __slots__ = (
        "container",
        "depth",
        "kind",
        "language",
        "level",
        "link_length",
        "marker",
        "quotes",
        "rows",
        "text",
    )

    def __init__(self, kind: Kind, text: str, container: int, link_length: int) -> None:
        self.kind = kind
        self.text = text
        """With marks; of a table the texts of its cells."""
        self.container = container
        self.link_length = link_length
        """Characters that are in links."""
        self.level = 0
        """Of a heading, 1 to 6."""
        self.depth = 0
        """How many lists it is in."""
        self.marker = ""
        """Of the first block of a list's item: `-` or `3.`."""
        self.quotes = 0
        """How many quotations it is in."""
        self.language = ""
        """Of code."""
        self.rows: list[list[list[Block]]] = []
        """Of a table: the blocks of each cell."""


class Container:
    """An element that blocks lie in."""

    __slots__ = ("has_h1", "parent", "role", "tag")

    def __init__(self, parent: int, tag: str, role: Role) -> None:
        self.parent = parent
        self.tag = tag
        self.role = role
        self.has_h1 = False


class Outline:
    """Blocks and containers, parents before their children."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.containers: list[Container] = [Container(-1, "body", Role.NONE)]
        self.is_cut = False
        """Whether the page has more than is read of one."""
