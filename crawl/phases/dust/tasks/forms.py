"""The parts of a column of URLs as numbers: where the path ends, which parameters there are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from crawl.urls.columns import ColumnBytes, column_bytes
from crawl.urls.dust import MAX_NAME
from crawl.urls.text_hashes import Numbers, Places, TextHashes, mixed

Mask = npt.NDArray[np.bool_]
RowPlaces = npt.NDArray[np.int64]

PATH_SALT = np.uint64(0x632BE59BD9B4E019)
"""Parts a parameter of the path from one of the query."""


@dataclass(frozen=True, slots=True)
class Pieces:
    """Parameters of URLs, one entry each: `name=value`, of the query or of the path."""

    rows: RowPlaces
    """The row that each belongs to, rising for each kind."""
    in_path: Mask
    names: Numbers
    """The number of the name and the kind."""
    numbers: Numbers
    """The number of all of it."""
    starts: RowPlaces
    name_ends: RowPlaces

    def __len__(self) -> int:
        return len(self.rows)


class UrlForms:
    """A column of URLs in normal form. Rows without an authority and a path are not `usable`."""

    def __init__(self, urls: pa.Array[Any]) -> None:
        text = column_bytes(urls)
        self.text = text
        self.hashes = TextHashes(text)
        self._lowered: TextHashes | None = None
        count = len(urls)
        self.starts: RowPlaces = text.offsets[:-1].astype(np.int64)
        row_ends: RowPlaces = text.offsets[1:].astype(np.int64)
        self.ends = _first(text, "#", row_ends)
        self.row_ends = row_ends
        self.query_starts = np.minimum(_first(text, "?", self.ends), self.ends)
        slashes = _positions(text, "/")
        owners = _owners(text, slashes)
        inside = slashes < self.query_starts[owners]
        slashes, owners = slashes[inside], owners[inside]
        firsts = np.searchsorted(owners, np.arange(count))
        rank = np.arange(len(owners)) - firsts[owners]
        self.path_starts = self.query_starts.copy()
        third = rank == 2
        self.path_starts[owners[third]] = slashes[third]
        self.usable: Mask = self.path_starts < self.query_starts
        in_path = rank >= 2
        self.last_slashes = self.path_starts.copy()
        self.last_slashes[owners[in_path]] = slashes[in_path]
        # the slash before the last one
        self.slashes_before = self.path_starts.copy()
        earlier = in_path & (slashes < self.last_slashes[owners])
        self.slashes_before[owners[earlier]] = slashes[earlier]
        semicolons = _positions(text, ";")
        self.segment_ends = self.query_starts.copy()
        of = _owners(text, semicolons)
        within = (semicolons > self.last_slashes[of]) & (semicolons < self.query_starts[of])
        semicolons, of = semicolons[within], of[within]
        self.segment_ends[of[::-1]] = semicolons[::-1]
        self._dots = _positions(text, ".")
        self._semicolons = _positions(text, ";")
        self.pieces = self._cut(semicolons, of)

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def lowered(self) -> TextHashes:
        """The numbers of stretches as if they were lower-case."""
        if self._lowered is None:
            self._lowered = TextHashes(self.text, lowered=True)
        return self._lowered

    def plain_before(self) -> Mask:
        """Whether the segment before the last slash has neither a dot nor a parameter."""
        first, end = self.slashes_before + 1, self.last_slashes
        return ~_any_between(self._dots, first, end) & ~_any_between(self._semicolons, first, end)

    def dotted_segment(self) -> Mask:
        """Whether the last segment of the path has a dot."""
        return _any_between(self._dots, self.last_slashes + 1, self.segment_ends)

    def texts(self, starts: Places, ends: Places) -> list[str]:
        """The stretches themselves, of which there are few."""
        data = self.text.data
        return [
            data[start:end].tobytes().decode("utf-8", "replace")
            for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
        ]

    def has_upper(self) -> Mask:
        """Whether there is an upper-case letter in the path, before its parameters."""
        data = self.text.data
        upper = np.flatnonzero((data >= ord("A")) & (data <= ord("Z")))
        return _any_between(upper, self.path_starts, self.segment_ends)

    def _cut(self, semicolons: RowPlaces, semicolon_rows: RowPlaces) -> Pieces:
        ampersands = _positions(self.text, "&")
        owners = _owners(self.text, ampersands)
        inside = (ampersands > self.query_starts[owners]) & (ampersands < self.ends[owners])
        with_query = np.flatnonzero(self.query_starts < self.ends)
        marks = np.concatenate([self.query_starts[with_query], ampersands[inside]])
        mark_rows = np.concatenate([with_query, owners[inside]])
        order = np.argsort(marks, kind="stable")
        sources = [
            (marks[order], mark_rows[order], self.ends, False),
            (semicolons, semicolon_rows, self.query_starts, True),
        ]
        equals = _positions(self.text, "=")
        parts: list[tuple[RowPlaces, Mask, Numbers, Numbers, RowPlaces, RowPlaces]] = []
        for places, rows, limits, in_path in sources:
            starts = places + 1
            ends = limits[rows]
            same = rows[1:] == rows[:-1]
            ends[:-1][same] = places[1:][same]
            is_piece = (ends > starts) & self.usable[rows]
            starts, ends, rows = starts[is_piece], ends[is_piece], rows[is_piece]
            name_ends = np.append(equals, np.iinfo(np.int64).max)[np.searchsorted(equals, starts)]
            name_ends = np.minimum(name_ends, ends)
            salt = PATH_SALT if in_path else np.uint64(0)
            names = mixed(self.hashes.of(starts, name_ends) ^ salt)
            numbers = mixed(self.hashes.of(starts, ends) ^ salt)
            parts.append((rows, np.full(len(rows), in_path), names, numbers, starts, name_ends))
        joined = [np.concatenate([part[place] for part in parts]) for place in range(6)]
        return Pieces(*joined)

    def nameable(self) -> Mask:
        """Which pieces have a name that a rule can have, as far as its length tells."""
        lengths = self.pieces.name_ends - self.pieces.starts
        return (lengths > 0) & (lengths <= MAX_NAME)


def _positions(text: ColumnBytes, byte: str) -> RowPlaces:
    return text.where(byte).astype(np.int64)


def _owners(text: ColumnBytes, positions: RowPlaces) -> RowPlaces:
    """The row of each position."""
    return np.searchsorted(text.offsets, positions, side="right").astype(np.int64) - 1


def _first(text: ColumnBytes, byte: str, otherwise: RowPlaces) -> RowPlaces:
    """Where the character first occurs in each row, else what is given."""
    positions = _positions(text, byte)
    firsts = otherwise.copy()
    firsts[_owners(text, positions)[::-1]] = positions[::-1]
    return firsts


def _any_between(positions: RowPlaces, starts: RowPlaces, ends: RowPlaces) -> Mask:
    """Whether any of the rising positions lies from each start to before its end."""
    return np.searchsorted(positions, starts) < np.searchsorted(positions, ends)
