from __future__ import annotations

from collections import defaultdict

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from crawl.phases.generate.tasks.ranking import NOT_TAKEN, Cut, assign, keys_of, within_cap

CANDIDATES = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 4)), max_size=40)


def arrays(candidates: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    keys = np.array([key for key, _ in candidates], dtype=np.uint64)
    groups = np.array([group for _, group in candidates], dtype=np.uint64)
    return keys, groups


@given(
    values=st.lists(st.floats(allow_nan=False, width=32), min_size=2, max_size=30),
    bucket=st.integers(0, 4000),
)
def test_keys_order_like_sort_values(values: list[float], bucket: int) -> None:
    column = np.array(values, dtype=np.float32)
    keys = keys_of(column, bucket, np.arange(len(values)))
    for first in range(len(values)):
        for second in range(len(values)):
            if column[first] < column[second]:
                # -0.0 and 0.0 are equal as values: nothing is said about their keys
                assert keys[first] < keys[second] or column[first] == column[second]


def test_ties_are_scattered_over_rows_and_buckets() -> None:
    one = np.ones(50_000, dtype=np.float32)
    keys = np.concatenate([keys_of(one, bucket, np.arange(50_000)) for bucket in (0, 1)])
    highest = np.argsort(keys)[::-1][:1000]
    from_first = int(np.count_nonzero(highest < 50_000))
    assert 400 < from_first < 600
    assert len(np.unique(keys)) > 99_990


@given(candidates=CANDIDATES, cap=st.integers(-1, 5))
def test_a_cap_keeps_the_highest_of_each_group(candidates: list[tuple[int, int]], cap: int) -> None:
    keys, groups = arrays(candidates)
    inside = within_cap(keys, groups, cap)
    by_group: dict[int, list[tuple[int, bool]]] = defaultdict(list)
    for (key, group), chosen in zip(candidates, inside.tolist(), strict=True):
        by_group[group].append((key, chosen))
    for members in by_group.values():
        kept = sorted((key for key, chosen in members if chosen), reverse=True)
        every = sorted((key for key, _ in members), reverse=True)
        assert kept == (every if cap <= 0 else every[:cap])


@given(
    candidates=CANDIDATES,
    cap=st.integers(0, 4),
    cuts=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 3)), max_size=4),
)
def test_each_segment_takes_as_if_those_before_were_gone(
    candidates: list[tuple[int, int]], cap: int, cuts: list[tuple[int, int]]
) -> None:
    keys, groups = arrays(candidates)
    taken = assign(keys, groups, cap, [Cut(above, ties) for above, ties in cuts])
    left = list(range(len(candidates)))
    for segment, (above, ties) in enumerate(cuts):
        mine = [row for row in range(len(candidates)) if taken[row] == segment]
        counts: dict[int, int] = defaultdict(int)
        for row in mine:
            counts[int(groups[row])] += 1
            assert keys[row] >= above
        assert all(count <= cap for count in counts.values()) or cap <= 0
        assert sum(keys[row] == above for row in mine) <= ties
        # nobody above the cut is passed over unless its group is full of higher ones
        for row in set(left) - set(mine):
            if keys[row] > above:
                assert cap > 0
                rivals = [r for r in mine if groups[r] == groups[row]]
                assert len(rivals) == cap
                assert min(keys[r] for r in rivals) >= keys[row]
        left = [row for row in left if taken[row] != segment]
    assert all(taken[row] == NOT_TAKEN for row in left)
