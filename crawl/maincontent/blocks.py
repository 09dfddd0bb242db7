"""The blocks of a page, and what they lie in: containers, and the items and quotations that
Markdown shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from crawl.maincontent.names import Role

BOLD, ITALIC, CODE, BREAK, STRIKE = "\x01", "\x02", "\x03", "\x04", "\x05"
"""Marks inside a block's text: each but BREAK stands before and behind what it is said of, and
pairs lie in each other or beside each other. BREAK is a line break that the page asks for, STRIKE
says that the page takes the text back."""
MARKS = BOLD + ITALIC + CODE + BREAK + STRIKE
MARKS_AND_BLANK = MARKS + " "

MAX_DEPTH = 16
"""Of items and quotations inside each other that are told apart; it bounds what stands before
each line of Markdown."""


class Kind(IntEnum):
    """What a block is."""

    PARAGRAPH = 0
    HEADING = 1
    ITEM = 2
    CODE = 3
    TABLE = 4


class Enclosure:
    """A list's item, or a quotation, that blocks lie in."""

    __slots__ = ("depth", "items", "list_id", "number", "parent")

    def __init__(self, parent: Enclosure | None, list_id: int, number: int | None) -> None:
        self.parent = parent
        self.list_id = list_id
        """The list of an item; 0 for a quotation."""
        self.number = number
        """Of an item, if its list is an ordered one."""
        self.depth = 1
        self.items = 1 if list_id else 0
        """How many items are around the blocks in it."""
        if parent is not None:
            self.depth += parent.depth
            self.items += parent.items


@dataclass(slots=True, eq=False)
class Block:
    """A block of text. There are hundreds in a page."""

    kind: Kind
    text: str
    """With marks; of a table the texts of its cells."""
    container: int
    link_length: int
    """Characters that are in links."""
    level: int = 0
    """Of a heading, 1 to 6."""
    enclosure: Enclosure | None = None
    """The innermost item or quotation that it is in."""
    language: str = ""
    """Of code."""
    rows: Sequence[list[list[Block]]] = ()
    """Of a table: the blocks of each cell."""

    @property
    def items(self) -> int:
        """How many items of lists it is in."""
        return 0 if self.enclosure is None else self.enclosure.items


@dataclass(slots=True, eq=False)
class Container:
    """An element that blocks lie in."""

    parent: int
    tag: str
    role: Role
    names: str = ""
    """Its class."""
    has_h1: bool = False
    has_picture: bool = False


@dataclass(slots=True, eq=False)
class Outline:
    """Blocks and containers, parents before their children."""

    blocks: list[Block] = field(default_factory=list)
    containers: list[Container] = field(default_factory=lambda: [Container(-1, "body", Role.NONE)])
    is_cut: bool = False
    """Whether the page has more than is read of one."""
