from __future__ import annotations

import gc
import io
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawl.errors import StorageError
from crawl.model.tables import CRAWLDB
from crawl.storage.folder import Folder, attempt_name
from crawl.storage.footer import read_footer, verify_data
from crawl.storage.parquet import StoredTable, each_group, open_table, open_writer, read_groups
from tests.examples import scaled

FIELDS: dict[str, pa.DataType] = {"url": pa.string(), "host": pa.string(), "n": pa.int64()}
SCHEMA = pa.schema(FIELDS)


def rows(numbers: range) -> pa.Table:
    return pa.table(
        {
            "url": [f"http://h{n % 3}/{n}" for n in numbers],
            "host": [f"h{n % 3}" for n in numbers],
            "n": list(numbers),
        },
        schema=SCHEMA,
    )


def least_and_most(column: pq.ColumnChunkMetaData) -> tuple[Any, Any]:
    """The column's statistics."""
    assert column.statistics is not None
    return column.statistics.min, column.statistics.max


def cut(sizes: list[int]) -> Iterator[pa.Table]:
    start = 0
    for size in sizes:
        yield rows(range(start, start + size))
        start += size


@given(st.lists(st.integers(0, 12), max_size=12), st.integers(1, 9))
@settings(max_examples=scaled(40), deadline=None)
def test_tables_of_any_size_become_even_groups_in_order(sizes: list[int], group: int) -> None:
    place = Folder("memory://parquet")
    name = attempt_name("even")
    with open_writer(place, name, SCHEMA, group) as writer:
        for table in cut(sizes):
            writer.write(table)
    whole = sum(sizes)
    assert writer.rows == whole
    assert writer.bytes == place.size(name)
    with open_table(place, name) as source:
        groups = list(each_group(source))
        assert source.read() == rows(range(whole))
    expected = [group] * (whole // group) + ([whole % group] if whole % group else [])
    assert [table.num_rows for table in groups] == expected
    place.delete(name)


def test_groups_by_hand(place: Folder) -> None:
    with open_writer(place, "x", SCHEMA, 100) as writer:
        assert writer.end_group() == 0
        for table in cut([3, 0, 4]):
            writer.write(table)
        assert writer.end_group() == 7
        writer.write(rows(range(7, 9)))
    with open_table(place, "x") as source:
        assert [table.num_rows for table in each_group(source)] == [7, 2]
        assert read_groups(source, [1], ["n"]).to_pydict() == {"n": [7, 8]}
        assert read_groups(source, []).num_rows == 0


def test_an_empty_table(place: Folder) -> None:
    with open_writer(place, "x", CRAWLDB.schema):
        pass
    with open_table(place, "x") as source:
        assert source.num_row_groups == 0
        assert list(each_group(source)) == []
        assert source.read() == CRAWLDB.schema.empty_table()
        assert source.schema_arrow.equals(CRAWLDB.schema)


def test_hosts_as_codes(place: Folder) -> None:
    with open_writer(place, "x", SCHEMA) as writer:
        writer.write(rows(range(9)))
    with open_table(place, "x", host_codes=True) as source:
        host = next(each_group(source, ["host"]))["host"]
        assert pa.types.is_dictionary(host.type)
        assert host.to_pylist() == [f"h{n % 3}" for n in range(9)]


def test_coding_and_statistics(place: Folder) -> None:
    with open_writer(place, "x", CRAWLDB.schema) as writer:
        writer.write(
            pa.table(
                [
                    ["http://a/", "http://b/"],
                    ["a", "b"],
                    [1, 1],
                    [1, 2],
                    [None, None],
                    [3, 3],
                    [0, 0],
                    [1.0, 1.0],
                    [None, None],
                    [[("k", "v")], []],
                ],
                schema=CRAWLDB.schema,
            )
        )
    with open_table(place, "x") as source:
        group = source.metadata.row_group(0)
        columns = {
            group.column(i).path_in_schema: group.column(i) for i in range(group.num_columns)
        }
    assert all(column.compression == "ZSTD" for column in columns.values())
    assert not columns["url"].has_dictionary_page
    assert columns["host"].has_dictionary_page
    assert columns["metadata.key_value.key"].has_dictionary_page
    assert least_and_most(columns["url"]) == ("http://a/", "http://b/")


def test_a_torn_file_is_one_line(place: Folder) -> None:
    with open_writer(place, "x", SCHEMA, 2) as writer:
        writer.write(rows(range(5)))
    data = place.read("x") or b""
    for end in (0, 3, len(data) // 2, len(data) - 1):
        place.write("torn", data[:end])
        with (
            pytest.raises(
                StorageError,
                match=r"place/torn is damaged: it is no whole Parquet file.*crawl check",
            ) as raised,
            open_table(place, "torn"),
        ):
            pass
        assert "\n" not in str(raised.value)


def test_what_a_reader_may_skip_by(place: Folder) -> None:
    fields: dict[str, pa.DataType] = {"url": pa.string(), "content": pa.binary()}
    schema = pa.schema(fields)
    with open_writer(place, "x", schema) as writer:
        writer.write(pa.table({"url": ["a", "b"], "content": [b"y", b"x"]}, schema=schema))
    with open_table(place, "x") as source:
        url, content = (source.metadata.row_group(0).column(number) for number in (0, 1))
    assert least_and_most(url) == ("a", "b")
    assert not content.is_stats_set, "pages have no order, and each would be compared"


def test_a_fault_in_the_block_is_all_that_is_heard(
    place: Folder, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ValueError, match="mine"), open_writer(place, "x", SCHEMA) as writer:
        writer.write(rows(range(9)))
        raise ValueError("mine")
    gc.collect()
    assert capfd.readouterr() == ("", "")


def flipped_bits(raw: bytes, step: int) -> Iterator[tuple[int, bytes]]:
    for place in range(0, len(raw) * 8, step):
        flipped = bytearray(raw)
        flipped[place // 8] ^= 1 << place % 8
        yield place // 8, bytes(flipped)


def test_no_flipped_bit_becomes_a_row_and_all_are_one_line() -> None:
    """Of pages and footers none; of the headers of pages, which have no checksum, hardly any."""
    place = Folder("memory://flipped")
    with open_writer(place, "x", SCHEMA, 40) as writer:
        writer.write(rows(range(100)))
    raw, expected = place.read("x") or b"", rows(range(100))
    footer = len(raw) - 8 - int.from_bytes(raw[-8:-4], "little")
    tried = changed = 0
    for number, damaged in flipped_bits(raw, 7):
        tried += 1
        try:
            source = StoredTable(io.BytesIO(damaged), "place/x")
            found = source.read(use_threads=False)
        except StorageError as error:
            assert str(error).startswith("place/x")
            assert "\n" not in str(error)
            continue
        assert found.num_rows == 100
        if found != expected:
            assert number < footer
            changed += 1
    assert tried > 1000
    assert changed <= tried // 1000
    place.delete("x")


def test_a_deep_look_finds_every_flipped_bit_before_the_footer() -> None:
    place = Folder("memory://flipped")
    with open_writer(place, "x", SCHEMA, 40) as writer:
        writer.write(rows(range(60)))
    raw = place.read("x") or b""
    footer = len(raw) - 8 - int.from_bytes(raw[-8:-4], "little")
    with place.open_read("x") as stream:
        metadata = read_footer(stream)
        verify_data(stream, metadata)
    for number, damaged in flipped_bits(raw, 5):
        if number < footer:
            with pytest.raises(ValueError, match="checksum of its data"):
                verify_data(io.BytesIO(damaged), metadata)
    place.delete("x")


def test_a_damaged_row_group_is_named(place: Folder) -> None:
    with open_writer(place, "x", SCHEMA, 40) as writer:
        writer.write(rows(range(100)))
    with open_table(place, "x") as source:
        column = source.metadata.row_group(1).column(0)
        end = column.data_page_offset + column.total_compressed_size
    raw = bytearray(place.read("x") or b"")
    raw[end - 3] ^= 4
    place.write("x", bytes(raw))
    with open_table(place, "x") as source:
        assert read_groups(source, [0]).num_rows == 40
        assert read_groups(source, [1], ["n"]).num_rows == 40, "another column is whole"
        with pytest.raises(StorageError, match=r"place/x, row group 1 is damaged: .*CRC"):
            read_groups(source, [1])
        with pytest.raises(StorageError, match=r"place/x is damaged: .*CRC"):
            list(source.iter_batches())


def test_files_of_other_writers_are_read(place: Folder) -> None:
    sink = io.BytesIO()
    pq.write_table(rows(range(9)), sink)
    place.write("x", sink.getvalue())
    with open_table(place, "x") as source:
        assert source.read() == rows(range(9))
        with place.open_read("x") as stream:
            verify_data(stream, source.metadata)


def test_others_read_our_files(place: Folder) -> None:
    with open_writer(place, "x", SCHEMA, 4) as writer:
        writer.write(rows(range(9)))
    raw = io.BytesIO(place.read("x") or b"")
    assert pq.read_table(raw, page_checksum_verification=True) == rows(range(9))


def test_a_url_cannot_spoil_the_checksum(place: Folder) -> None:
    table = rows(range(3)).set_column(0, "url", pa.array(["0" * 16, "nutria.footer", "z"]))
    with open_writer(place, "x", SCHEMA) as writer:
        writer.write(table)
    with open_table(place, "x") as source:
        assert source.read() == table
