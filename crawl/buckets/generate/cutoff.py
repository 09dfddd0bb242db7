"""The exact top N of keys that are spread over many shards, without gathering them.

Each shard sends every `step`-th of its keys, highest first. From these the N-th highest
key of all is known to lie in a narrow range; the shards then send just the keys in that
range, and the cut is exact. With few candidates the step is 1, and the first look is enough.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crawl.buckets.generate.ranking import Cut, Keys

LOWEST = 0
HIGHEST = 2**64 - 1


@dataclass(frozen=True, slots=True)
class KeySummary:
    """A shard's eligible keys, thinned: the step-th, 2·step-th … highest."""

    count: int
    thinned: Keys


@dataclass(frozen=True, slots=True)
class Bracket:
    """The cut lies in [low, high]."""

    low: int
    high: int


@dataclass(frozen=True, slots=True)
class BracketKeys:
    """A shard's keys within a bracket, and how many are above it."""

    above: int
    keys: Keys


def summarize(keys_descending: Keys, step: int) -> KeySummary:
    return KeySummary(len(keys_descending), keys_descending[step - 1 :: step].copy())


def bracket(summaries: list[KeySummary], step: int, wanted: int) -> Bracket | None:
    """Where the `wanted`-th highest key lies; None where there are no more than wanted."""
    if sum(summary.count for summary in summaries) <= wanted:
        return None
    every = np.sort(np.concatenate([summary.thinned for summary in summaries]))[::-1]
    # each thinned key stands for `step` keys that are at least as high: low is safe when
    # so many of them are counted that `wanted` keys surely are not below it
    enough = -(-wanted // step)
    low = int(every[enough - 1]) if enough <= len(every) else LOWEST
    # at most (thinned keys above + one unfinished step a shard) · step keys are above high
    sure = wanted // step - len(summaries)
    high = int(every[sure - 1]) if sure >= 1 else HIGHEST
    return Bracket(low, high)


def whole_summaries(summaries: list[KeySummary]) -> list[BracketKeys]:
    """Summaries with a step of 1 as what a second look would find: every key is in them."""
    return [BracketKeys(0, summary.thinned) for summary in summaries]


def keys_in_bracket(keys_descending: Keys, limits: Bracket) -> BracketKeys:
    above = int(np.count_nonzero(keys_descending > np.uint64(limits.high)))
    within = keys_descending[above:]
    return BracketKeys(above, within[within >= np.uint64(limits.low)].copy())


def settle_cuts(found: list[BracketKeys], wanted: int) -> list[Cut]:
    """The cut, one for each shard: they differ in how many ties a shard may take."""
    need = wanted - sum(shard.above for shard in found)
    every = np.sort(np.concatenate([shard.keys for shard in found]))[::-1]
    threshold = every[need - 1]
    ties = need - int(np.count_nonzero(every > threshold))
    cuts = []
    for shard in found:
        share = min(ties, int(np.count_nonzero(shard.keys == threshold)))
        cuts.append(Cut(int(threshold), share))
        ties -= share
    return cuts


TAKE_ALL = Cut(LOWEST, HIGHEST)
"""The cut of a segment that has room for every candidate."""
