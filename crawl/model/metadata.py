"""The metadata column as a whole: looking up and setting one key in every row."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from crawl.model.table import METADATA


def _as_maps(column: pa.Array[Any]) -> pa.MapArray[Any, Any]:
    """The column by its type, which the stubs do not know of a table's columns."""
    return cast("pa.MapArray[Any, Any]", column)


def _flat(column: pa.Array[Any]) -> tuple[pa.Array[Any], pa.Array[Any], npt.NDArray[np.int64]]:
    """Keys, values, and the row that each belongs to."""
    maps = _as_maps(column)
    offsets = maps.offsets.to_numpy().astype(np.int64)
    rows = np.repeat(np.arange(len(column)), np.diff(offsets))
    first, last = int(offsets[0]), int(offsets[-1])
    return maps.keys.slice(first, last - first), maps.items.slice(first, last - first), rows


def has_any(column: pa.Array[Any]) -> bool:
    """Whether any row has any entry: most tables have none, and that is quick to see."""
    offsets = _as_maps(column).offsets
    return len(column) > 0 and offsets[0] != offsets[len(column)]


def lookup(column: pa.Array[Any], key: str) -> pa.Array[Any]:
    """Each row's value of the key; null where it has none."""
    if not has_any(column):
        return pa.nulls(len(column), pa.string())
    values: pa.Array[Any] = pc.map_lookup(column, pa.scalar(key), "last")
    return values


def with_entry(
    column: pa.Array[Any], key: str, value: str, rows: npt.NDArray[np.bool_] | None = None
) -> pa.Array[Any]:
    """The column with the key set in every row, or in the rows of the mask."""
    places = np.arange(len(column)) if rows is None else np.flatnonzero(rows)
    return _with(column, key, pa.repeat(value, len(places)), places)


def with_entries(column: pa.Array[Any], key: str, values: pa.Array[Any]) -> pa.Array[Any]:
    """The column with the key set to the given value, in each row that has one."""
    places = np.flatnonzero(values.is_valid().to_numpy(zero_copy_only=False))
    return column if len(places) == 0 else _with(column, key, values.take(places), places)


def _with(
    column: pa.Array[Any], key: str, new_values: pa.Array[Any], places: npt.NDArray[np.int64]
) -> pa.Array[Any]:
    keys, values, owners = _flat(column)
    stays = ~(
        pc.equal(keys, pa.scalar(key)).to_numpy(zero_copy_only=False) & np.isin(owners, places)
    )
    filter_mask = pa.array(stays)
    all_keys = pa.concat_arrays([keys.filter(filter_mask), pa.repeat(key, len(places))])
    all_values = pa.concat_arrays([values.filter(filter_mask), new_values])
    all_owners = np.concatenate([owners[stays], places])
    order: pa.Array[Any] = pa.array(np.argsort(all_owners, kind="stable"))
    return _maps(len(column), all_owners, all_keys.take(order), all_values.take(order))


def without_entry(column: pa.Array[Any], key: str) -> pa.Array[Any]:
    """The column with the key taken out of every row."""
    if not has_any(column):
        return column
    keys, values, owners = _flat(column)
    stays = pc.not_equal(keys, pa.scalar(key))
    mask = stays.to_numpy(zero_copy_only=False)
    if mask.all():
        return column
    return _maps(len(column), owners[mask], keys.filter(stays), values.filter(stays))


def _maps(
    rows: int, owners: npt.NDArray[np.int64], keys: pa.Array[Any], values: pa.Array[Any]
) -> pa.Array[Any]:
    """The column of so many rows; keys and values are in the order of the rows, and `owners` are
    the numbers of these, in any order."""
    counts = np.bincount(owners, minlength=rows)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    from_arrays: Any = pa.MapArray.from_arrays  # the stubs know no offsets that are an array
    maps: pa.Array[Any] = from_arrays(pa.array(offsets), keys, values).cast(METADATA)
    return maps
