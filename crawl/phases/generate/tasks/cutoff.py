"""The exact top N of keys that are spread over many shards, without gathering them.

Each shard tells every `step`-th of its keys, highest first. From these the N-th highest key of
all is known to lie in a narrow bracket; the shards then tell of the keys in that bracket alone,
all of them or, where they are many, thinned again. Each look leaves so few that another one or
two make the cut exact, and the driver is never told more than it can hold. With few candidates
the step is 1, and the first look is enough.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crawl.phases.generate.tasks.arrays import Keys
from crawl.phases.generate.tasks.ranking import Cut

LOWEST = 0
HIGHEST = 2**64 - 1


@dataclass(frozen=True, slots=True)
class Bracket:
    """The cut lies in [low, high]."""

    low: int = LOWEST
    high: int = HIGHEST


@dataclass(frozen=True, slots=True)
class KeySummary:
    """How a shard's eligible keys lie to a bracket. Its ends are counted by themselves: however
    many keys are the same as one of them, those between become fewer with each look."""

    above: int
    at_high: int
    inside: int
    at_low: int
    thinned: Keys
    """Of those inside the step-th, 2·step-th … highest."""

    @property
    def count(self) -> int:
        """All that are not below the bracket."""
        return self.above + self.at_high + self.inside + self.at_low


def summarize(keys_descending: Keys, limits: Bracket, step: int) -> KeySummary:
    ascending, count = keys_descending[::-1], len(keys_descending)

    def not_below(key: int) -> int:
        return count - int(np.searchsorted(ascending, np.uint64(key), "left"))

    def above(key: int) -> int:
        return count - int(np.searchsorted(ascending, np.uint64(key), "right"))

    first, end = not_below(limits.high), max(above(limits.low), not_below(limits.high))
    inside = keys_descending[first:end]
    higher = above(limits.high)
    return KeySummary(
        higher,
        first - higher,
        len(inside),
        not_below(limits.low) - end,
        inside[step - 1 :: step].copy(),
    )


def next_step(shards: int, step: int, most_keys: int) -> int:
    """How to thin the keys inside the bracket that a look with this step leads to, so that hardly
    more than `most_keys` are told. There are 2 · shards · step at the most: as many of the keys
    that were told as there are shards, and an unfinished step of each."""
    return max(1, min(2 * shards * step // most_keys, step // 2))


def settle_cuts(
    summaries: list[KeySummary], limits: Bracket, step: int, top_n: int
) -> list[Cut] | Bracket:
    """The cut at the `wanted`-th highest key, one for each shard: they differ in how many ties a
    shard may take. Or, where too little was told, the bracket to look into next. There are more
    than so many keys not below this one."""
    need = top_n - sum(shard.above for shard in summaries)
    at_high = [shard.at_high for shard in summaries]
    if need <= sum(at_high):
        return _shared(limits.high, at_high, need)
    need -= sum(at_high)
    inside = sum(shard.inside for shard in summaries)
    if need > inside:
        return _shared(limits.low, [shard.at_low for shard in summaries], need - inside)
    every = np.sort(np.concatenate([shard.thinned for shard in summaries]))[::-1]
    if step == 1:
        threshold = every[need - 1]
        ties = [int(np.count_nonzero(shard.thinned == threshold)) for shard in summaries]
        return _shared(int(threshold), ties, need - int(np.count_nonzero(every > threshold)))
    # each thinned key stands for `step` keys that are at least as high: low is safe when
    # so many of them are counted that `need` keys surely are not below it
    enough = -(-need // step)
    low = int(every[enough - 1]) if enough <= len(every) else limits.low
    # at most (thinned keys above + one unfinished step a shard) · step keys are above high
    sure = need // step - len(summaries)
    high = int(every[sure - 1]) if sure >= 1 else limits.high
    return Bracket(low, high)


def _shared(threshold: int, ties: list[int], need: int) -> list[Cut]:
    """The first shards take the ties, as long as some are needed."""
    cuts = []
    for available in ties:
        share = min(need, available)
        cuts.append(Cut(threshold, share))
        need -= share
    return cuts


TAKE_ALL = Cut(LOWEST, HIGHEST)
"""The cut of a segment that has room for every candidate."""
