from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.urls.columns import column_bytes
from tests.urls.texts import encodable


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_counts_in_slices_and_around_nulls(kind: pa.DataType) -> None:
    column = pa.array(["//", None, "a/b", "", "/"], kind)
    assert column_bytes(column).count("/").tolist() == [2, 0, 1, 0, 1]
    assert column_bytes(column.slice(2, 2)).count("/").tolist() == [1, 0]
    assert column_bytes(column.slice(3, 1)).contains("/") is False
    assert column_bytes(column.slice(0, 0)).count("/").tolist() == []


def test_columns_without_any_bytes() -> None:
    for column in (pa.array([], pa.string()), pa.array(["", None]), pa.nulls(3, pa.string())):
        assert column_bytes(column).count("/").tolist() == [0] * len(column)


@given(st.lists(encodable), st.integers(0, 3))
def test_counts_are_pythons(texts: list[str], start: int) -> None:
    column = pa.array(texts, pa.string()).slice(start)
    assert column_bytes(column).count("/").tolist() == [text.count("/") for text in texts[start:]]
