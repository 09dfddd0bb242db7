"""The cells of a table while it is read, and whether it is one of data or lays out the page."""

from __future__ import annotations

from crawl.exporting.page.blocks import Block, Kind

_MOST_COLUMNS = 50
_MOST_BLOCKS = 3
"""Of a cell that holds data."""
_LONGEST = 600
"""Characters of a block in such a cell."""


class OpenTable:
    """The cells of a table while it is read: ranges of blocks."""

    __slots__ = ("_cell", "_rows", "first")

    def __init__(self, first: int) -> None:
        self.first = first
        self._rows: list[list[tuple[int, int]]] = []
        self._cell = -1

    def start(self, tag: str, block: int) -> None:
        if tag == "tr":
            self._rows.append([])
        elif tag in ("td", "th"):
            self._cell = block

    def end(self, tag: str, block: int) -> None:
        if tag in ("td", "th") and self._rows and self._cell >= 0:
            self._rows[-1].append((self._cell, block))
            self._cell = -1

    def rows_of(self, blocks: list[Block]) -> list[list[str]]:
        """The texts of the cells, if it is a table of data: several rows and columns of short
        texts, in which nothing is built of blocks. Else none."""
        rows = [row for row in self._rows if row]
        width = max(map(len, rows), default=0)
        if len(rows) < 2 or not 2 <= width <= _MOST_COLUMNS:
            return []
        found: list[list[str]] = []
        covered = self.first
        for row in rows:
            cells: list[str] = []
            for first, end in row:
                inside = blocks[first:end]
                if first != covered or len(inside) > _MOST_BLOCKS:
                    return []
                if any(
                    each.kind is not Kind.PARAGRAPH or len(each.text) > _LONGEST for each in inside
                ):
                    return []
                covered = end
                cells.append(" ".join(each.text for each in inside))
            found.append(cells)
        if covered != len(blocks) or covered == self.first:
            return []
        few = sum(1 for row in found if len(row) == 1)
        return [] if 2 * few > len(found) else found
