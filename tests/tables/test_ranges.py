from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from operator import itemgetter

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawl.model.arrow import strings
from crawl.tables import ranges
from crawl.tables.exchange import Outbox, Received, RowKind
from crawl.tables.ranges import KeyRange, NewRows, StoredGroups
from tests.examples import scaled

COLUMNS: dict[str, pa.DataType] = {"url": pa.string(), "n": pa.int64()}
KIND = RowKind("rows", pa.schema(COLUMNS))
KEYS = st.text(alphabet="ab\u00fc\U0001f600", max_size=3)


def table(keys: Sequence[str], first: int = 0) -> pa.Table:
    numbers = range(first, first + len(keys))
    return pa.table([list(keys), list(numbers)], schema=KIND.schema)


def new_rows(tables: Sequence[pa.Table]) -> NewRows:
    return NewRows(KIND.schema, "url", lambda: iter(tables))


def checked(parts: Iterator[KeyRange]) -> list[KeyRange]:
    """The ranges, which must rise and hold no row of another."""
    found = list(parts)
    ends = [part.end for part in found]
    assert ends[-1] is None and None not in ends[:-1]
    bounds = ["", *(end for end in ends if end is not None)]
    assert all(low.encode() < high.encode() for low, high in pairwise(bounds))
    for low, part in zip(bounds, found, strict=True):
        for key in strings(part.rows["url"]):
            assert low.encode() <= key.encode()
            assert part.end is None or key.encode() < part.end.encode()
    return found


@given(given_keys=st.lists(st.lists(KEYS, max_size=12), max_size=6), most=st.integers(1, 400))
@settings(max_examples=scaled(300))
def test_any_bound_gives_the_same_rows_in_order(given_keys: list[list[str]], most: int) -> None:
    tables = [table(keys, 100 * number) for number, keys in enumerate(given_keys)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranges, "_MAX_BYTES", most)
        parts = checked(new_rows(tables).ranges())
    everything = [row for each in tables for row in each.to_pylist()]
    found = [row for part in parts for row in part.rows.to_pylist()]
    assert sorted(found, key=itemgetter("n")) == everything
    # of each key in the order in which they were given
    for part in parts:
        numbers: dict[str, int] = {}
        for row in part.rows.to_pylist():
            assert numbers.get(row["url"], -1) < row["n"]
            numbers[row["url"]] = row["n"]


def test_ranges_are_as_small_as_was_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranges, "_MAX_BYTES", 4000)
    keys = [f"http://h.org/{n * 7919 % 1000:04d}" for n in range(1000)]
    parts = checked(new_rows([table(keys[:300]), table(keys[300:], 300)]).ranges())
    assert len(parts) > 5
    assert max(part.rows.nbytes for part in parts) <= 4000


def test_a_key_with_nearly_all_rows_is_a_range_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranges, "_MAX_BYTES", 4000)
    keys = ["b"] * 2000 + [f"{letter}{n}" for letter in "ac" for n in range(200)]
    parts = checked(new_rows([table(keys)]).ranges())
    assert ["b"] in [part.rows["url"].unique().to_pylist() for part in parts]
    assert len(parts) < 20


def test_of_one_key_only_rows_that_matter_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranges, "_MAX_BYTES", 100)
    sizes = []

    def last_three(rows: pa.Table) -> pa.Table:
        sizes.append(rows.num_rows)
        return rows.slice(max(0, rows.num_rows - 3))

    tables = [table(["same"] * 10, 10 * number) for number in range(8)]
    new = NewRows(KIND.schema, "url", lambda: iter(tables), thin=last_three)
    (only,) = checked(new.ranges())
    assert only.rows["n"].to_pylist() == [77, 78, 79]
    assert max(sizes) <= 13


def test_blocks_beyond_a_bound_are_on_the_disk_and_read_as_often_as_wanted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    outbox = Outbox(0)
    for number in range(5):
        outbox.send_all(KIND, table(["x"] * 100, 100 * number), 0)
    blocks = [block for _, block in outbox.blocks]
    monkeypatch.setattr("crawl.tables.exchange._MAX_IN_MEMORY", len(blocks[0]) + 1)
    received = Received(iter(blocks))
    assert received.row_count(KIND) == 500
    for _ in range(2):
        assert received.rows(KIND)["n"].to_pylist() == list(range(500))


@given(
    stored=st.lists(KEYS, unique=True, max_size=12),
    ends=st.lists(KEYS, unique=True, max_size=4),
    group_rows=st.integers(1, 5),
)
@settings(max_examples=scaled(200))
def test_stored_rows_come_range_by_range(
    stored: list[str], ends: list[str], group_rows: int
) -> None:
    rows = table(sorted(stored, key=str.encode))
    groups = StoredGroups(
        (rows.slice(at, group_rows) for at in range(0, rows.num_rows, group_rows)), "url"
    )
    found: list[str] = []
    for end in sorted(ends, key=str.encode):
        found += [key for part in groups.below(end) for key in strings(part["url"])]
        assert found == [key for key in strings(rows["url"]) if key.encode() < end.encode()]
    found += [key for part in groups.below(None) for key in strings(part["url"])]
    assert found == strings(rows["url"])
