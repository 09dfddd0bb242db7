"""What stands before each block, and before its lines: the markers of items and quotations.

What is inside an item begins where the item's own text does, behind markers of any length. A list
that follows another has other markers, `+` after `-` and `1)` after `1.`, for readers would take
both for one; so has an item whose number does not follow that of the item before it, for readers
count by themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile

from crawl.maincontent.blocks import Block, Enclosure, Kind

_LARGEST = 999_999_999
"""Number of an item of Markdown; greater ones, and those below zero, stand in a bullet's text."""
_OTHER = {"-": "+", "+": "-", ".": ")", ")": "."}
_TEXTS = (Kind.PARAGRAPH, Kind.ITEM)


@dataclass(slots=True)
class Place:
    """Where a block stands."""

    gap: str = ""
    """Between it and the one before."""
    first: str = ""
    """Before its first line."""
    others: str = ""
    """Before its other lines."""


_BEGINNING = Place()
_OUTSIDE = Place("\n\n")


def plain_gap(before: Block | None, block: Block) -> str:
    """What stands between two blocks in plain text: nothing but the end of a line before the items
    of a list."""
    if before is None:
        return ""
    item, around = block.enclosure, before.enclosure
    if item is None or around is None or not item.list_id:
        return "\n\n"
    while around is not None:
        if around is item:
            return "\n\n"
        around = around.parent
    return "\n"


class Places:
    """Places one block after the other, in Markdown."""

    def __init__(self) -> None:
        self._before: Block | None = None
        self._enclosures: list[Enclosure] = []
        """Those around the block before, outermost first."""
        self._markers: list[str] = []
        """The marker of each: `-`, `7.` or, of a quotation, `>`."""
        self._indents: list[str] = []
        """What stands for each before the lines that follow."""

    def place(self, block: Block) -> Place:
        before, self._before = self._before, block
        if block.enclosure is None and not self._enclosures:
            return _BEGINNING if before is None else _OUTSIDE
        around = _around(block.enclosure)
        shared = self._shared(around)
        opened = around[shared:]
        gap = ""
        if before is not None:
            gap = "\n\n"
            if self._is_tight(before, opened, shared):
                gap = "\n"
            elif shared:
                gap = f"\n{''.join(self._indents[:shared]).rstrip()}\n"
        indent = "".join(self._indents[:shared])
        first = indent + self._open(opened, shared, is_text=block.kind in _TEXTS)
        return Place(gap, first, indent + "".join(self._indents[shared:]))

    def _shared(self, around: list[Enclosure]) -> int:
        """How many enclosures the block has in common with the one before."""
        pairs = zip(self._enclosures, around, strict=False)
        return sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1], pairs))

    def _is_tight(self, before: Block, opened: list[Enclosure], shared: int) -> bool:
        """Whether no blank line stands before a block: it begins an item behind another of the
        list, or a list behind the text of an item, where readers see that it does."""
        if not opened or not opened[0].list_id:
            return False
        if shared < len(self._enclosures):
            return self._enclosures[shared].list_id == opened[0].list_id
        return (
            shared > 0
            and bool(self._enclosures[-1].list_id)
            and before.kind in _TEXTS
            and opened[0].number in (None, 1)
        )

    def _open(self, opened: list[Enclosure], shared: int, *, is_text: bool) -> str:
        """Opens enclosures; returns what stands for them before the first line."""
        beside, its_marker = None, ""
        if shared < len(self._enclosures):
            beside, its_marker = self._enclosures[shared], self._markers[shared]
        del self._enclosures[shared:], self._markers[shared:], self._indents[shared:]
        first = []
        for enclosure in opened:
            marker = _marker(enclosure, beside, its_marker)
            beside, its_marker = None, ""
            indent = "> " if marker == ">" else " " * (len(marker) + 1)
            self._enclosures.append(enclosure)
            self._markers.append(marker)
            self._indents.append(indent)
            first.append(f"{marker} ")
        if opened and is_text and not _is_countable(opened[-1]):
            first.append(f"{opened[-1].number}. ")
        return "".join(first)


def _around(enclosure: Enclosure | None) -> list[Enclosure]:
    enclosures: list[Enclosure] = []
    while enclosure is not None:
        enclosures.append(enclosure)
        enclosure = enclosure.parent
    return enclosures[::-1]


def _is_countable(item: Enclosure) -> bool:
    return item.number is None or 0 <= item.number <= _LARGEST


def _marker(enclosure: Enclosure, beside: Enclosure | None, its_marker: str) -> str:
    """The marker of an item or a quotation, behind one `beside` it and its marker."""
    if not enclosure.list_id:
        return ">"
    number = enclosure.number
    is_new = beside is None or beside.list_id != enclosure.list_id
    if number is None or not _is_countable(enclosure):
        if its_marker not in ("-", "+"):
            return "-"
        return _OTHER[its_marker] if is_new else its_marker
    delimiter = "."
    if its_marker[:1].isdigit():
        delimiter = its_marker[-1]
        if is_new or beside is None or beside.number is None or number != beside.number + 1:
            delimiter = _OTHER[delimiter]
    return f"{number}{delimiter}"
