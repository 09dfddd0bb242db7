"""A crawl's tables as a program reads them: rows as Arrow, pandas, polars or dictionaries.

A `Table` reads nothing until it is asked. Columns and conditions are pushed down: only the
wanted columns are decoded, and row groups whose statistics rule every row out are skipped.
Statuses are names here (`db_fetched`), as everywhere that people look.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from crawl.datasets.files import first_of_each
from crawl.errors import EnvironmentFault
from crawl.hints import install
from crawl.operations.results import html_table
from crawl.storage.scan import Condition, filter_rows, require_column, require_condition

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped, unused-ignore]
    import polars as pl  # type: ignore[import-not-found, unused-ignore]

Read = Callable[[Sequence[str], Sequence[Condition]], Iterator[pa.Table]]
"""Reads these columns of the rows for which all conditions hold, piece by piece."""

_SHOWN_ROWS = 10
_SHOWN_CHARACTERS = 80


@dataclass(frozen=True, slots=True)
class Table:
    """The rows of one table of a crawl; `select` and `where` narrow it down.

    web.crawldb().select("url", "score").where(("status", "=", "db_fetched")).to_pandas()
    """

    name: str
    schema: pa.Schema
    """The columns as they are read."""
    parts: tuple[Read, ...] = field(repr=False)
    """Readers of its parts, which can be read side by side."""
    conditions: tuple[Condition, ...] = ()
    unique: str = ""
    """Of rows with the same value in this column only the first is one of the table: parts that
    come first are newer."""
    _stored: pa.Schema | None = field(default=None, repr=False)
    """All columns, where only some are selected."""

    @property
    def columns(self) -> list[str]:
        """The names of the selected columns."""
        return list(self.schema.names)

    def select(self, *columns: str) -> Table:
        """The same rows with these columns only, in this order."""
        for column in columns:
            require_column(column, (self._stored or self.schema).names, self.name)
        stored = self._stored or self.schema
        schema = pa.schema([stored.field(column) for column in columns])
        return replace(self, schema=schema, _stored=stored)

    def where(self, *conditions: Condition) -> Table:
        """The rows for which all conditions hold: `("score", ">", 0.5)`,
        `("status", "in", ["db_gone", "db_redir_perm"])`."""
        for condition in conditions:
            require_condition(condition, (self._stored or self.schema).names, self.name)
        return replace(self, conditions=(*self.conditions, *conditions))

    def batches(self) -> Iterator[pa.Table]:
        """The rows piece by piece, each an Arrow table: memory stays bounded."""
        return self._pieces(self.columns)

    def count(self) -> int:
        """How many rows there are."""
        one = (self._stored or self.schema).names[:1]
        return sum(piece.num_rows for piece in self._pieces(one))

    def head(self, rows: int = _SHOWN_ROWS) -> pa.Table:
        """The first rows, as an Arrow table; no more is read than they need."""
        pieces: list[pa.Table] = []
        room = rows
        for piece in self.batches():
            pieces.append(piece.slice(0, room))
            room -= pieces[-1].num_rows
            if room <= 0:
                break
        return self._joined(pieces)

    def to_arrow(self) -> pa.Table:
        """All rows as one Arrow table, in memory."""
        return self._joined(list(self.batches()))

    def to_pandas(self) -> pd.DataFrame:
        """All rows as a pandas DataFrame; maps become dictionaries."""
        return self.to_arrow().to_pandas(maps_as_pydicts="lossy")

    def to_polars(self) -> pl.DataFrame:
        """All rows as a polars DataFrame."""
        try:
            import polars
        except ImportError as missing:
            raise EnvironmentFault(f"polars is not installed: {install('notebook')}") from missing
        return polars.DataFrame(self.to_arrow())

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The rows one by one, as dictionaries."""
        for piece in self.batches():
            yield from piece.to_pylist(maps_as_pydicts="lossy")

    def __repr__(self) -> str:
        return f"<{self.name}: {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        """The first rows, for a notebook. Everything in them came from outside: escaped."""
        rows = self.head().to_pylist(maps_as_pydicts="lossy")
        cells = [list(map(_cell, row.values())) for row in rows]
        return html_table(f"{self.name}, the first {len(rows)} rows", self.columns, cells)

    def _pieces(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        if not self.unique:
            for part in self.parts:
                yield from part(columns, self.conditions)
            return
        # the newest row decides whether a condition holds, so that older ones cannot show up
        needed = [self.unique, *columns, *(condition[0] for condition in self.conditions)]
        names = list(dict.fromkeys(needed))
        pieces = (piece for part in self.parts for piece in part(names, ()))
        for piece in first_of_each(pieces, self.unique):
            rows = filter_rows(piece, self.conditions).select(list(columns))
            if rows.num_rows:
                yield rows

    def _joined(self, pieces: list[pa.Table]) -> pa.Table:
        return pa.concat_tables(pieces) if pieces else self.schema.empty_table()


def _cell(value: object) -> str:
    text = value.hex() if isinstance(value, bytes) else str("" if value is None else value)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"
