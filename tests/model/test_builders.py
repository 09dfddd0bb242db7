from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.model import builders
from crawl.model.builders import BytesBuilder, MapBuilder
from crawl.model.records import dicts
from crawl.model.table import METADATA


@given(st.lists(st.dictionaries(st.text(max_size=3), st.text(max_size=9), max_size=3)))
def test_maps_come_out_as_they_went_in(rows: list[dict[str, str]]) -> None:
    maps = MapBuilder()
    for row in rows:
        maps.add(row)
    array = maps.array()
    array.validate(full=True)
    assert array.type == METADATA and list(dicts(array)) == rows


@given(st.lists(st.binary(max_size=300)), st.integers(0, 600))
def test_bytes_come_out_as_they_went_in(values: list[bytes], room: int) -> None:
    column = BytesBuilder(room)
    for value in values:
        column.add(value)
    array = column.array()
    array.validate(full=True)
    assert array.type == pa.binary() and array.to_pylist() == values
    assert column.room >= max(room, sum(map(len, values)))


def test_more_bytes_than_an_array_can_address_are_several(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builders, "_MAX_BYTES", 10)
    values = [b"12345", b"67890", b"", b"1", b"a value of more than ten", b"2"]
    column = BytesBuilder(0)
    for value in values:
        column.add(value)
    array = column.array()
    assert isinstance(array, pa.ChunkedArray)
    assert array.num_chunks == 4 and array.to_pylist() == values
