from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawl.model.metadata import has_any, lookup, with_entry, without_entry
from crawl.model.table import METADATA
from tests.examples import scaled

keys = st.sampled_from(["_ngt_", "a", "b", ""])
rows = st.lists(
    st.dictionaries(keys, st.text(st.characters(codec="utf-8"), max_size=4)), max_size=8
)
slices = st.tuples(st.integers(0, 4), st.integers(0, 8))

Rows = list[dict[str, str]]


def column_of(dicts: Rows) -> pa.Array[Any]:
    return pa.array([list(entries.items()) for entries in dicts], METADATA)


def cut(dicts: Rows, where: tuple[int, int]) -> tuple[Rows, pa.Array[Any]]:
    """A slice of the column that still lies in the whole column's buffers."""
    start, length = where
    return dicts[start : start + length], column_of(dicts).slice(start, length)


def as_dicts(column: pa.Array[Any]) -> Rows:
    maps: list[Any] = column.to_pylist()
    return [dict(entries) for entries in maps]


@given(rows, slices, keys)
@settings(max_examples=scaled(150))
def test_lookup(dicts: Rows, where: tuple[int, int], key: str) -> None:
    expected, column = cut(dicts, where)
    found = lookup(column, key)
    assert found.type == pa.string()
    assert found.to_pylist() == [entries.get(key) for entries in expected]


@given(rows, slices)
@settings(max_examples=scaled(60))
def test_has_any(dicts: Rows, where: tuple[int, int]) -> None:
    expected, column = cut(dicts, where)
    assert has_any(column) == any(expected)


@given(rows, slices, keys, st.text(st.characters(codec="utf-8"), max_size=4), st.data())
@settings(max_examples=scaled(200))
def test_with_entry(
    dicts: Rows, where: tuple[int, int], key: str, value: str, data: st.DataObject
) -> None:
    expected, column = cut(dicts, where)
    mask = data.draw(
        st.none() | st.lists(st.booleans(), min_size=len(expected), max_size=len(expected))
    )
    chosen = [True] * len(expected) if mask is None else mask
    changed = with_entry(column, key, value, None if mask is None else np.array(mask, dtype=bool))
    changed.validate(full=True)
    assert changed.type == METADATA
    assert as_dicts(changed) == [
        {**entries, key: value} if wanted else entries
        for entries, wanted in zip(expected, chosen, strict=True)
    ]
    maps: list[Any] = changed.to_pylist()
    assert all(len(entries) == len(dict(entries)) for entries in maps)
    assert lookup(changed, key).to_pylist() == [
        value if wanted else entries.get(key)
        for entries, wanted in zip(expected, chosen, strict=True)
    ]


def test_a_key_that_stands_twice_in_a_row() -> None:
    column = pa.array([[("a", "old"), ("b", "x"), ("a", "new")]], METADATA)
    assert lookup(column, "a").to_pylist() == ["new"]
    assert with_entry(column, "a", "newest").to_pylist() == [[("b", "x"), ("a", "newest")]]


@pytest.mark.parametrize("length", [0, 1, 3])
def test_a_column_without_entries(length: int) -> None:
    column = column_of([{}] * length)
    assert not has_any(column)
    assert lookup(column, "a").to_pylist() == [None] * length
    assert as_dicts(with_entry(column, "a", "1")) == [{"a": "1"}] * length


def test_the_column_of_an_empty_table() -> None:
    column = pa.schema([("m", METADATA)]).empty_table()["m"].combine_chunks()
    assert not has_any(column)
    assert lookup(column, "a").to_pylist() == []
    assert with_entry(column, "a", "1").to_pylist() == []


@given(rows, slices, keys)
def test_without_entry(dicts: Rows, where: tuple[int, int], key: str) -> None:
    expected, column = cut(dicts, where)
    found = without_entry(column, key)
    assert found.type == METADATA
    assert as_dicts(found) == [
        {name: value for name, value in entries.items() if name != key} for entries in expected
    ]
