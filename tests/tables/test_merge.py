from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from crawl.tables.merge import KeyGroups, keep_stored, merge_sorted, sort_by_key, sorted_unique

KEY = ["url"]
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
    def added(groups: KeyGroups) -> pa.Table:
        was, comes = groups.first(), groups.last()
        assert was["url"].to_pylist() == comes["url"].to_pylist()
        assert (was["value"].to_numpy() < 10).all()
        sums = was["value"].to_numpy() + comes["value"].to_numpy()
        return was.set_column(1, "value", pa.array(sums, pa.int64()))

    merged = list(merge_sorted(groups(table(old), size), table(new), added, KEY))
    rows = [row for part in merged for row in part.to_pylist()]
    expected = {url: old.get(url, 0) + new.get(url, 0) for url in {*old, *new}}
    assert [row["url"] for row in rows] == sorted(expected, key=str.encode)
    assert {row["url"]: row["value"] for row in rows} == expected


def test_groups_without_a_new_row_pass_through_as_they_are() -> None:
    first, second = table({"a": 1, "b": 2}), table({"x": 3, "y": 4})
    merged = list(merge_sorted([first, second], table({"xx": 5}), keep_stored, KEY))
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
    unique, dropped = sorted_unique(given_rows, KEY, rank="rank")
    expected: dict[str, int] = {}
    for url, rank in ranked:
        expected[url] = max(rank, expected.get(url, -1))
    assert dict(zip(unique["url"].to_pylist(), unique["rank"].to_pylist(), strict=True)) == expected
    assert unique["url"].to_pylist() == sorted(expected, key=str.encode)
    assert dropped == len(rows) - len(expected)


@given(
    old=st.sets(st.tuples(URLS, st.integers(0, 9))),
    new=st.lists(st.tuples(URLS, st.integers(0, 9)), max_size=20),
    size=st.integers(1, 5),
)
def test_a_key_of_two_columns_whose_new_rows_repeat(
    old: set[tuple[str, int]], new: list[tuple[str, int]], size: int
) -> None:
    """The groups hold the stored row and then all new ones in their order; here every third
    key that has several rows is forgotten."""

    def rows_of(pairs: Iterable[tuple[str, int]], first: int) -> pa.Table:
        numbered = [(*pair, first + place) for place, pair in enumerate(pairs)]
        types: dict[str, pa.DataType] = {"url": pa.string(), "page": pa.int64(), "row": pa.int64()}
        schema = pa.schema(types)
        return pa.Table.from_pylist(
            [dict(zip(schema.names, row, strict=True)) for row in numbered], schema=schema
        )

    key = ["url", "page"]
    forgotten: set[tuple[str, int]] = set()

    def combine(groups: KeyGroups) -> pa.Table:
        several = groups.rows.to_pylist()
        for group, start in enumerate(groups.starts.tolist()):
            members = [row for row, of in zip(several, groups.owners, strict=True) if of == group]
            assert members[0] == several[start]
            assert [row["row"] for row in members] == sorted(row["row"] for row in members)
        firsts = groups.first()
        stays = [row["page"] % 3 != 0 for row in firsts.to_pylist()]
        gone = firsts.filter(pa.array([not stay for stay in stays], pa.bool_())).to_pylist()
        forgotten.update((row["url"], row["page"]) for row in gone)
        return firsts.filter(pa.array(stays, pa.bool_()))

    stored = sort_by_key(rows_of(old, 0), key)
    delta = sort_by_key(rows_of(new, 1000), key)
    merged = list(merge_sorted(groups(stored, size), delta, combine, key))
    found = [(row["url"], row["page"]) for part in merged for row in part.to_pylist()]
    assert found == sorted(({*old, *new} - forgotten), key=lambda pair: (pair[0].encode(), pair[1]))
