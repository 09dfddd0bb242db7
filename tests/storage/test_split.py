from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawl.errors import StorageError
from crawl.storage import split
from crawl.storage.folder import Folder, attempt_name
from crawl.storage.split import (
    destinations_of,
    read_rows,
    read_split,
    scratch_name,
    write_rows,
    write_split,
)
from tests.examples import scaled

FIELDS: dict[str, pa.DataType] = {"url": pa.string(), "n": pa.int64()}
SCHEMA = pa.schema(FIELDS)


def table_of(numbers: list[int]) -> pa.Table:
    return pa.table({"url": [f"http://h/{n}" for n in numbers], "n": numbers}, schema=SCHEMA)


@given(st.lists(st.lists(st.integers(0, 5), max_size=20), max_size=4))
@settings(max_examples=scaled(40), deadline=None)
def test_every_row_arrives_once_and_in_order(tasks: list[list[int]]) -> None:
    place = Folder("memory://split")
    expected: dict[int, list[int]] = {}
    files = []
    number = 0
    for destinations in tasks:
        numbers = list(range(number, number + len(destinations)))
        number += len(destinations)
        file = write_split(
            place, attempt_name("split"), table_of(numbers), np.array(destinations, dtype=np.int32)
        )
        assert sum(file.rows.values()) == len(destinations)
        files.append(file)
        for row, destination in zip(numbers, destinations, strict=True):
            expected.setdefault(destination, []).append(row)
    found = destinations_of(files)
    assert set(found) == set(expected)
    for destination in range(7):
        whole = read_split(place, files, destination, SCHEMA)
        assert whole == table_of(expected.get(destination, []))
        assert read_split(place, found.get(destination, []), destination, SCHEMA) == whole
    for file in files:
        place.delete(file.path)


def test_one_batch_a_destination(place: Folder) -> None:
    destinations = np.array([7, 3, 7, 3, 3], dtype=np.int64)
    file = write_split(place, "x", table_of([0, 1, 2, 3, 4]), destinations)
    assert file.rows == {3: 3, 7: 2}
    with place.open_read("x") as stream:
        assert pa.ipc.open_file(stream.read()).num_record_batches == 2
    assert read_split(place, [file], 3, SCHEMA)["n"].to_pylist() == [1, 3, 4]
    assert read_split(place, [file], 7, SCHEMA)["n"].to_pylist() == [0, 2]


def test_nothing_to_split(place: Folder) -> None:
    file = write_split(place, "x", table_of([]), np.array([], dtype=np.int64))
    assert file.rows == {}
    assert read_split(place, [file], 0, SCHEMA) == SCHEMA.empty_table()
    assert read_split(place, [], 0, SCHEMA) == SCHEMA.empty_table()
    assert destinations_of([file]) == {}


def test_a_table_in_several_chunks(place: Folder) -> None:
    table = pa.concat_tables([table_of([0, 1]), table_of([2]), table_of([3, 4, 5])])
    file = write_split(place, "x", table, np.array([1, 0, 1, 0, 1, 1]))
    assert read_split(place, [file], 1, SCHEMA)["n"].to_pylist() == [0, 2, 4, 5]


def test_a_long_destination_is_several_batches(
    place: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(split, "_BATCH_ROWS", 2)
    file = write_split(place, "x", table_of(list(range(9))), np.array([5, 4, 4, 5, 5, 5, 6, 5, 4]))
    assert file.rows == {4: 3, 5: 5, 6: 1}
    with place.open_read("x") as stream:
        assert pa.ipc.open_file(stream.read()).num_record_batches == 2 + 3 + 1
    assert read_split(place, [file], 4, SCHEMA)["n"].to_pylist() == [1, 2, 8]
    assert read_split(place, [file], 5, SCHEMA)["n"].to_pylist() == [0, 3, 4, 5, 7]
    assert read_split(place, [file], 6, SCHEMA)["n"].to_pylist() == [6]


def test_rows_for_the_next_step(place: Folder) -> None:
    write_rows(place, "x", table_of([3, 1, 2]))
    assert read_rows(place, "x") == table_of([3, 1, 2])
    write_rows(place, "none", table_of([]))
    assert read_rows(place, "none") == SCHEMA.empty_table()


def test_a_torn_file_is_one_line(place: Folder) -> None:
    write_rows(place, "x", table_of([3, 1, 2]))
    place.write("torn", (place.read("x") or b"")[:-20])
    with pytest.raises(StorageError, match=r"torn is no whole Arrow file"):
        read_rows(place, "torn")


def test_no_two_attempts_share_a_name() -> None:
    names = {scratch_name("seeds") for _ in range(20)}
    assert len(names) == 20
    assert all(name.startswith("seeds-") and name.endswith(".arrow") for name in names)
