from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from crawl.buckets.generate.cutoff import bracket, keys_in_bracket, settle_cuts, summarize

SHARDS = st.lists(st.lists(st.integers(0, 50), max_size=40), min_size=1, max_size=6)


@given(shards=SHARDS, wanted=st.integers(1, 120), step=st.integers(1, 9))
def test_the_cut_is_exact_however_coarse_the_summary(
    shards: list[list[int]], wanted: int, step: int
) -> None:
    ordered = [np.array(sorted(shard, reverse=True), dtype=np.uint64) for shard in shards]
    limits = bracket([summarize(keys, step) for keys in ordered], step, wanted)
    total = sum(map(len, ordered))
    if total <= wanted:
        assert limits is None
        return
    assert limits is not None
    found = [keys_in_bracket(keys, limits) for keys in ordered]
    cuts = settle_cuts(found, wanted)
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


def test_the_summary_of_many_keys_leaves_few_to_look_at() -> None:
    chance = np.random.default_rng(1)
    shards = [np.sort(chance.integers(0, 2**63, 20_000, dtype=np.uint64))[::-1] for _ in range(16)]
    step = 100
    limits = bracket([summarize(keys, step) for keys in shards], step, 50_000)
    assert limits is not None
    found = [keys_in_bracket(keys, limits) for keys in shards]
    assert sum(len(shard.keys) for shard in found) <= 2 * step * (len(shards) + 1)
