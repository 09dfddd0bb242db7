from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from crawl.storage.layout import bucket_of
from crawl.storage.manifest import BucketFile, Snapshot, in_order
from crawl.tables.slices import Slices
from tests.examples import scaled

BUCKETS = 4
HOSTS = [f"h{number}.org" for number in range(6)]
KEYS = st.text(alphabet="ab\u00fc\U0001f600", min_size=1, max_size=3)


def snapshot(cuts: dict[int, list[tuple[str, int]]]) -> Snapshot:
    """One whose buckets have files with these first keys and numbers of rows."""
    files = [
        BucketFile(bucket, f"{bucket}-{first}", rows, 1, first)
        for bucket, pieces in cuts.items()
        for first, rows in pieces
    ]
    return Snapshot(1, BUCKETS, in_order(files), 0, "test")


SNAPSHOTS = st.dictionaries(
    st.integers(0, BUCKETS - 1),
    st.lists(st.tuples(KEYS, st.integers(1, 9)), unique_by=lambda piece: piece[0], max_size=5),
).map(snapshot)


@given(
    base=SNAPSHOTS,
    rows=st.lists(st.tuples(st.sampled_from(HOSTS), KEYS), max_size=30),
    gather=st.integers(0, 20),
)
@settings(max_examples=scaled(300))
def test_every_row_is_sent_to_the_slice_that_has_its_key(
    base: Snapshot, rows: list[tuple[str, str]], gather: int
) -> None:
    slices = Slices.of(base, BUCKETS, gather)
    assert [each.number for each in slices.all] == list(range(len(slices)))
    assert [file for each in slices.all for file in each.files] == list(base.files)
    assert all(each.rows <= gather for each in slices.all if len(each.files) > 1)
    hosts = pa.array([host for host, _ in rows], pa.string())
    keys = pa.array([key for _, key in rows], pa.string())
    for (host, key), number in zip(rows, slices.router.slices_of(hosts, keys), strict=True):
        mine = slices.all[number]
        assert mine.bucket == bucket_of(host, BUCKETS)
        assert mine.first is None or mine.first.encode() <= key.encode()
        assert mine.end is None or key.encode() < mine.end.encode()
        # a look-up opens the same file
        file = base.file_for(mine.bucket, key)
        assert (file in mine.files) if mine.files else file is None
    first = slices.router.first_slices(np.arange(BUCKETS, dtype=np.int32))
    assert [slices.all[number].place for number in first] == [0] * BUCKETS


@given(base=SNAPSHOTS, gather=st.integers(0, 20))
def test_a_row_of_a_bucket_is_found_in_its_slice(base: Snapshot, gather: int) -> None:
    slices = Slices.of(base, BUCKETS, gather)
    wanted = [(each, row) for each in slices.all for row in range(each.rows)]
    buckets = np.array([each.bucket for each, _ in wanted], np.int64)
    rows = np.array([each.first_row + row for each, row in wanted], np.int64)
    numbers, places = slices.row_places.of(buckets, rows)
    assert numbers.tolist() == [each.number for each, _ in wanted]
    assert places.tolist() == [row for _, row in wanted]


def test_files_of_slices_that_were_written_take_the_place_of_the_old() -> None:
    base = snapshot({0: [("a", 2), ("k", 2)], 2: [("x", 1)]})
    slices = Slices.of(base, BUCKETS)
    written = BucketFile(0, "new", 3, 1, "b")
    assert slices.files_after({0: [written], 3: []}) == [written, base.files[1]]
    assert slices.files_after({}) == list(base.files)


def test_small_neighbours_are_one_slice_to_be_written() -> None:
    base = snapshot({1: [("a", 3), ("b", 2), ("c", 9), ("d", 1), ("e", 1), ("f", 1)]})
    slices = Slices.to_write(base, BUCKETS, file_rows=10)
    found = [[file.first for file in each.files] for each in slices.all if each.bucket == 1]
    assert found == [["a", "b"], ["c"], ["d", "e", "f"]]
    rows = [each.first_row for each in slices.all if each.bucket == 1]
    assert all(before < after for before, after in pairwise(rows))
