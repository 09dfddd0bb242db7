from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from crawl.buckets.merge import merge_sorted, sorted_unique

URLS = st.text(alphabet="ab/é~Z", max_size=4)


def table(rows: dict[str, int]) -> pa.Table:
    ordered = sorted(rows, key=str.encode)
    return pa.table(
        {
            "url": pa.array(ordered, pa.string()),
            "value": pa.array([rows[url] for url in ordered], pa.int64()),
        }
    )


def groups(whole: pa.Table, size: int) -> list[pa.Table]:
    return [whole.slice(start, size) for start in range(0, whole.num_rows, size)]


@given(
    old=st.dictionaries(URLS, st.integers(0, 9)),
    new=st.dictionaries(URLS, st.integers(10, 19)),
    size=st.integers(1, 5),
)
def test_a_merge_is_the_union_in_order(old: dict[str, int], new: dict[str, int], size: int) -> None:
    def added(was: pa.Table, comes: pa.Table) -> pa.Table:
        assert was["url"].to_pylist() == comes["url"].to_pylist()
        assert all(value < 10 for value in was["value"].to_pylist())
        sums = [
            a + b for a, b in zip(was["value"].to_pylist(), comes["value"].to_pylist(), strict=True)
        ]
        return was.set_column(1, "value", pa.array(sums, pa.int64()))

    merged = list(merge_sorted(groups(table(old), size), table(new), added))
    rows = [row for part in merged for row in part.to_pylist()]
    expected = {url: old.get(url, 0) + new.get(url, 0) for url in {*old, *new}}
    assert [row["url"] for row in rows] == sorted(expected, key=str.encode)
    assert {row["url"]: row["value"] for row in rows} == expected


def test_groups_without_a_new_row_pass_through_as_they_are() -> None:
    first, second = table({"a": 1, "b": 2}), table({"x": 3, "y": 4})
    merged = list(merge_sorted([first, second], table({"xx": 5}), lambda old, new: old))
    assert merged[0] is first
    assert merged[1]["url"].to_pylist() == ["x", "xx", "y"]


@given(rows=st.lists(st.tuples(URLS, st.integers(0, 100)), max_size=30))
def test_of_equal_urls_the_highest_rank_stays(rows: list[tuple[str, int]]) -> None:
    ranked = [(url, rank * 1000 + place) for place, (url, rank) in enumerate(rows)]
    given_rows = pa.table(
        {
            "url": pa.array([url for url, _ in ranked], pa.string()),
            "rank": pa.array([rank for _, rank in ranked], pa.int64()),
        }
    )
    unique, dropped = sorted_unique(given_rows, rank="rank")
    expected: dict[str, int] = {}
    for url, rank in ranked:
        expected[url] = max(rank, expected.get(url, -1))
    assert dict(zip(unique["url"].to_pylist(), unique["rank"].to_pylist(), strict=True)) == expected
    assert unique["url"].to_pylist() == sorted(expected, key=str.encode)
    assert dropped == len(rows) - len(expected)
