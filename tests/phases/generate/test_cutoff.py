from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from crawl.phases.generate.tasks.arrays import Keys
from crawl.phases.generate.tasks.cutoff import Bracket, next_step, settle_cuts, summarize
from crawl.phases.generate.tasks.ranking import Cut

KEYS = st.integers(0, 50) | st.sampled_from([0, 7, 2**64 - 1])
SHARDS = st.lists(st.lists(KEYS, max_size=40), min_size=1, max_size=6)


def look_for_cuts(
    shards: list[Keys], step: int, wanted: int, most_keys: int
) -> tuple[list[Cut], list[int]]:
    """The cuts, and how many keys were told at each look."""
    limits, told = Bracket(), []
    while True:
        found = [summarize(keys, limits, step) for keys in shards]
        told.append(sum(len(shard.thinned) for shard in found))
        settled = settle_cuts(found, limits, step, wanted)
        if not isinstance(settled, Bracket):
            return settled, told
        assert step > 1
        limits, step = settled, next_step(len(shards), step, most_keys)


@given(
    shards=SHARDS,
    wanted=st.integers(1, 120),
    step=st.integers(1, 20),
    most_keys=st.integers(1, 200),
)
def test_the_cut_is_exact_however_coarse_the_looks(
    shards: list[list[int]], wanted: int, step: int, most_keys: int
) -> None:
    ordered = [np.array(sorted(shard, reverse=True), dtype=np.uint64) for shard in shards]
    total = sum(map(len, ordered))
    assert sum(summarize(keys, Bracket(), step).count for keys in ordered) == total
    if total <= wanted:
        return
    cuts, _ = look_for_cuts(ordered, step, wanted, most_keys)
    taken = [
        int(np.count_nonzero(keys > cut.above)) + cut.ties
        for keys, cut in zip(ordered, cuts, strict=True)
    ]
    assert sum(taken) == wanted
    assert len({cut.above for cut in cuts}) == 1
    highest = sorted(np.concatenate(ordered).tolist(), reverse=True)
    assert cuts[0].above == highest[wanted - 1]
    for keys, cut in zip(ordered, cuts, strict=True):
        assert cut.ties <= int(np.count_nonzero(keys == cut.above))


def test_each_look_leaves_few_keys_to_the_next() -> None:
    chance = np.random.default_rng(1)
    shards = [np.sort(chance.integers(0, 2**63, 20_000, dtype=np.uint64))[::-1] for _ in range(16)]
    _, told = look_for_cuts(shards, 100, 50_000, 3_200)
    assert told[0] == 3_200 and 1 <= len(told[1:]) <= 2
    assert max(told) <= 3_200


def test_many_keys_that_are_the_same_are_counted_and_not_told() -> None:
    for wanted in (99, 5_000, 50_101, 50_150):
        keys = [
            np.repeat(np.arange(200, dtype=np.uint64), 1)[::-1],
            np.full(50_000, 100, np.uint64),
        ]
        cuts, told = look_for_cuts(keys, 100, wanted, 500)
        highest = np.sort(np.concatenate(keys))[::-1]
        assert cuts[0].above == highest[wanted - 1]
        assert sum(told[1:]) <= 500
