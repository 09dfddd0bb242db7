"""Slices: the shares of a table that one task each works on.

Most often a slice is a bucket. A bucket of several files, such as that of a host with a tenth
of all URLs, is as many slices: the rows that lie from the first of a file to the first of the
next. Rows for the table are sent to slices; what is told of a bucket as a whole goes to its
first slice.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from crawl.model.arrow import Column
from crawl.storage.layout import buckets_of
from crawl.storage.manifest import BucketFile, Snapshot
from crawl.tables.bucket_files import Sized

Numbers = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Slice:
    """One slice: its present files, none where the bucket has no row yet."""

    number: int
    """Among all slices of the table."""
    bucket: int
    files: tuple[BucketFile, ...] = ()
    place: int = 0
    """Among the slices of its bucket."""
    is_whole: bool = True
    """Whether it is all of its bucket."""
    first_row: int = 0
    """The number that its first row has in the bucket."""
    end: str | None = None
    """The first value that belongs to the bucket's next slice; None: it is the last."""

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    @property
    def first(self) -> str | None:
        """The first value that belongs to it; None: it is the bucket's first slice."""
        return self.files[0].first if self.place else None


@dataclass(frozen=True)
class Router:
    """Which slice a row belongs to: what whoever sends rows has to know of the slices."""

    buckets: int
    starts: Numbers | None = None
    """The number of each bucket's first slice; None where slices are buckets."""
    bounds: Mapping[int, tuple[str, ...]] | None = None
    """Of buckets of several slices: the first value of every slice but the first."""

    def slices_of(self, hosts: Column, keys: Column) -> Numbers:
        """The slice of each row, by its `bucket_by` column and its key's first."""
        buckets = buckets_of(hosts, self.buckets)
        if self.starts is None or not self.bounds or len(buckets) == 0:
            return buckets
        slices: Numbers = self.starts[buckets]
        order = np.argsort(buckets, kind="stable")
        present, starts = np.unique(buckets[order], return_index=True)
        ends = np.append(starts[1:], len(order))
        column = keys.combine_chunks() if isinstance(keys, pa.ChunkedArray) else keys
        for bucket, start, end in zip(present.tolist(), starts, ends, strict=True):
            if bucket in self.bounds:
                rows = order[start:end]
                slices[rows] += places_among(column.take(rows), self.bounds[bucket])
        return slices

    def first_slices(self, buckets: Numbers) -> Numbers:
        """The first slices of these buckets."""
        return buckets if self.starts is None else self.starts[buckets]


@dataclass(frozen=True)
class RowPlaces:
    """Where a row is, by its number in its bucket."""

    starts: npt.NDArray[np.int64]
    """Of every slice its bucket and first row, as one number."""

    def of(
        self, buckets: npt.NDArray[np.int64], rows: npt.NDArray[np.int64]
    ) -> tuple[Numbers, npt.NDArray[np.int32]]:
        """The slice of each row, and its number there."""
        places = (buckets << _ROW_BITS) | rows
        slices = np.searchsorted(self.starts, places, side="right") - 1
        return slices.astype(np.int32), (places - self.starts[slices]).astype(np.int32)


_ROW_BITS = 40


@dataclass(frozen=True)
class Slices:
    """All slices of a table, by bucket and key."""

    buckets: int
    all: tuple[Slice, ...]

    @classmethod
    def of(cls, base: Snapshot | None, buckets: int, gather_rows: int = 0) -> Slices:
        """Those of a snapshot: one for each file, and one for a bucket without any. Neighbours
        that have no more than `gather_rows` rows together are one slice, so that files that
        have shrunk become one again when they are written."""
        stored = {
            bucket: tuple(files)
            for bucket, files in groupby(base.files if base else (), lambda file: file.bucket)
        }
        slices: list[Slice] = []
        for bucket in range(buckets):
            groups = list(gathered(stored.get(bucket, ()), gather_rows)) or [()]
            first_row = 0
            for place, files in enumerate(groups):
                end = groups[place + 1][0].first if place + 1 < len(groups) else None
                slices.append(
                    Slice(len(slices), bucket, files, place, len(groups) == 1, first_row, end)
                )
                first_row += slices[-1].rows
        return cls(buckets, tuple(slices))

    @classmethod
    def to_write(cls, base: Snapshot | None, buckets: int, file_rows: int) -> Slices:
        """Those to be written anew into files of at most so many rows: small neighbours become
        one file again."""
        return cls.of(base, buckets, file_rows // 2)

    def __len__(self) -> int:
        return len(self.all)

    @property
    def router(self) -> Router:
        if len(self.all) == self.buckets:
            return Router(self.buckets)
        starts = np.array([each.number for each in self.all if each.place == 0], dtype=np.int32)
        bounds: dict[int, tuple[str, ...]] = {}
        for each in self.all:
            if each.first is not None:
                bounds[each.bucket] = (*bounds.get(each.bucket, ()), each.first)
        return Router(self.buckets, starts, bounds)

    @property
    def row_places(self) -> RowPlaces:
        return RowPlaces(
            np.array([(each.bucket << _ROW_BITS) | each.first_row for each in self.all], np.int64)
        )

    def stored(self) -> list[Slice]:
        """The slices that have rows."""
        return [each for each in self.all if each.files]

    def files_after(self, written: Mapping[int, Iterable[BucketFile]]) -> list[BucketFile]:
        """The table's files when these slices have been written anew."""
        return [file for each in self.all for file in written.get(each.number, each.files)]


def gathered(files: Iterable[Sized], most: int) -> Iterator[tuple[Sized, ...]]:
    """Neighbours that have no more than so many rows together, or one alone that has more."""
    group: list[Sized] = []
    rows = 0
    for file in files:
        if group and rows + file.rows > most:
            yield tuple(group)
            group, rows = [], 0
        group.append(file)
        rows += file.rows
    if group:
        yield tuple(group)


def places_among(keys: pa.Array[Any], bounds: Sequence[str]) -> Numbers:
    """How many of the rising bounds each key is not below."""
    ordered = [bound.encode() for bound in bounds]
    if len(keys) <= len(bounds):
        places = [bisect_right(ordered, key.as_py().encode()) for key in keys]
        return np.array(places, dtype=np.int32)
    order: npt.NDArray[np.int64] | None = None
    if not pc.all(pc.less_equal(keys.slice(0, len(keys) - 1), keys.slice(1))).as_py():
        order = pc.sort_indices(keys).to_numpy().astype(np.int64)
        keys = keys.take(order)

    def key_at(row: int) -> bytes:
        return str(keys[row].as_py()).encode()

    edges = [0]
    for bound in ordered:
        edges.append(bisect_left(range(len(keys)), bound, lo=edges[-1], key=key_at))
    counts = np.diff(np.array([*edges, len(keys)]))
    in_order = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    if order is None:
        return in_order
    result = np.empty(len(keys), dtype=np.int32)
    result[order] = in_order
    return result
