"""The cells of a table while it is read, and whether it is one of data or lays out the page."""

from __future__ import annotations

from crawl.maincontent.blocks import Block, Kind

_MAX_COLUMNS = 50
_MAX_BLOCKS = 3
"""Paragraphs of a cell that holds data."""
_MAX_ITEMS = 12
"""Of lists in such a cell; a menu has more."""
_LONGEST = 600
"""Characters of a block in such a cell, and of all its items."""
_MORE = 3
"""Times so much is data where the table has headers: one that lays out the page has none."""


class OpenTable:
    """The cells of a table while it is read: ranges of blocks."""

    __slots__ = ("_cell", "_has_headers", "_items", "_rows", "first")

    def __init__(self, first: int, items: int) -> None:
        self.first = first
        self._items = items
        """How many items of lists it is in."""
        self._rows: list[list[tuple[int, int]]] = []
        self._cell = -1
        self._has_headers = False

    def start(self, tag: str, block: int) -> None:
        if tag == "tr":
            self._rows.append([])
        elif tag in ("td", "th"):
            self._cell = block
            self._has_headers = self._has_headers or tag == "th"

    def end(self, tag: str, block: int) -> None:
        if tag in ("td", "th") and self._rows and self._cell >= 0:
            self._rows[-1].append((self._cell, block))
            self._cell = -1
        elif tag == "caption" and not self._rows:
            self.first = block  # it stays a paragraph before the table

    def rows_of(self, blocks: list[Block]) -> list[list[list[Block]]]:
        """The blocks of the cells, if it is a table of data: several rows and columns of short
        texts, lists and lines of code. Else none."""
        rows = [row for row in self._rows if row]
        width = max(map(len, rows), default=0)
        if len(rows) < 2 or not 2 <= width <= _MAX_COLUMNS:
            return []
        table: list[list[list[Block]]] = []
        covered = self.first
        for row in rows:
            cells: list[list[Block]] = []
            for first, end in row:
                inside = blocks[first:end]
                if first != covered or not self._is_data(inside):
                    return []
                covered = end
                cells.append(inside)
            table.append(cells)
        if covered != len(blocks) or covered == self.first:
            return []
        few = sum(1 for row in table if len(row) == 1)
        return [] if 2 * few > len(table) else table

    def _is_data(self, inside: list[Block]) -> bool:
        if len(inside) == 1 and inside[0].kind is Kind.PARAGRAPH:
            return len(inside[0].text) <= _LONGEST
        more = _MORE if self._has_headers else 1
        listed = [each for each in inside if each.items > self._items]
        return (
            len(inside) - len(listed) <= more * _MAX_BLOCKS
            and len(listed) <= more * _MAX_ITEMS
            and sum(len(each.text) for each in listed) <= more * _LONGEST
            and all(
                each.kind in (Kind.PARAGRAPH, Kind.ITEM, Kind.CODE) and len(each.text) <= _LONGEST
                for each in inside
            )
        )
