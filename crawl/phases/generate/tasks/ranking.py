"""Ranks and caps as arithmetic on whole columns; the pure heart of generate.

A candidate's key is one 64-bit number: its sort value above, a scattered number below
to break ties fairly. Comparing keys is the whole order: highest first. A segment takes
the highest keys, at most `cap` of each group (host or domain); the segment after it does
the same with what is left, as if generate had been run again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from crawl.phases.generate.tasks.arrays import Integers, Keys, Mask, Segments

NOT_TAKEN = -1


def keys_of(values: npt.NDArray[np.float32], bucket: int, rows: Integers) -> Keys:
    """Keys of candidates by sort value and by where they stand in the CrawlDb."""
    bits = values.astype(np.float32).view(np.uint32)
    # IEEE floats compare as integers once negative ones are turned around
    negative = (bits >> np.uint32(31)).astype(bool)
    ordered = np.where(negative, ~bits, bits | np.uint32(0x8000_0000)).astype(np.uint64)
    scattered = _scatter((np.uint64(bucket) << np.uint64(40)) | rows.astype(np.uint64))
    return (ordered << np.uint64(32)) | (scattered >> np.uint64(32))


def _scatter(numbers: Keys) -> Keys:
    """SplitMix64's finalizer: neighbours become far apart, always the same way."""
    with np.errstate(over="ignore"):
        mixed = (numbers + np.uint64(0x9E37_79B9_7F4A_7C15)).astype(np.uint64)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58_476D_1CE4_E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D0_49BB_1331_11EB)
        return mixed ^ (mixed >> np.uint64(31))


@dataclass(frozen=True, slots=True)
class Cut:
    """A segment takes every eligible key above `above`, and `ties` of those equal to it."""

    above: int
    ties: int = 0


@dataclass(frozen=True)
class OwnCaps:
    """Groups that have caps of their own."""

    groups: Keys
    """In rising order."""
    most: Integers
    """Most URLs in one segment, which may be none; negative: no bound."""

    def scaled(self, segments: int, extra: int = 0) -> OwnCaps:
        """Those of several segments together, and so many more."""
        most = np.where(self.most < 0, self.most, self.most * segments + extra)
        return OwnCaps(self.groups, most)

    def limits(self, groups: Keys, cap: int) -> Integers:
        """The cap of each group: its own, or else that of all."""
        limits = np.full(len(groups), cap if cap > 0 else UNLIMITED, dtype=np.int64)
        if len(self.groups):
            places = np.minimum(np.searchsorted(self.groups, groups), len(self.groups) - 1)
            has_own = self.groups[places] == groups
            own = self.most[places]
            limits = np.where(has_own, np.where(own < 0, UNLIMITED, own), limits)
        return limits


UNLIMITED = 1 << 62


def within_cap(keys: Keys, groups: Keys, cap: int, own: OwnCaps | None = None) -> Mask:
    """True for the `cap` highest keys of each group; all where cap is 0 or less. A group may have
    a cap of its own.

    Quick where the rows of a group stand together, as in a table sorted by URL: only the
    groups with more than `cap` rows are looked into, and none is sorted.
    """
    inside = np.ones(len(keys), dtype=bool)
    if len(keys) == 0 or (own is None and (cap <= 0 or len(keys) <= cap)):
        return inside
    starts = np.flatnonzero(np.append(True, groups[1:] != groups[:-1]))
    ends = np.append(starts[1:], len(groups))
    names, group_of_run = np.unique(groups[starts], return_inverse=True)
    sizes = np.bincount(group_of_run, weights=ends - starts, minlength=len(names))
    runs = np.argsort(group_of_run, kind="stable")
    first_run = np.searchsorted(group_of_run[runs], np.arange(len(names) + 1))
    limits = (own or _NO_OWN).limits(names, cap)
    for group in np.flatnonzero(sizes > limits).tolist():
        mine = runs[first_run[group] : first_run[group + 1]]
        rows: slice | Integers
        if len(mine) == 1:
            rows = slice(starts[mine[0]], ends[mine[0]])
        else:
            rows = np.concatenate([np.arange(starts[run], ends[run]) for run in mine])
        inside[rows] = _highest(keys[rows], int(limits[group]))
    return inside


_NO_OWN = OwnCaps(np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.int64))


def _highest(keys: Keys, most: int) -> Mask:
    """True for the `most` highest of more keys than that; of equal ones for the first."""
    if most == 0:
        return np.zeros(len(keys), dtype=bool)
    place = len(keys) - most
    lowest = np.partition(keys, place)[place]
    is_high: Mask = keys > lowest
    ties = np.flatnonzero(keys == lowest)
    is_high[ties[: most - int(np.count_nonzero(is_high))]] = True
    return is_high


def assign(
    keys: Keys, groups: Keys, cap: int, cuts: list[Cut], own: OwnCaps | None = None
) -> Segments:
    """The segment of each candidate of a shard, NOT_TAKEN for those left over.

    `cuts` are the segments settled so far, in order; their ties are this shard's share.
    """
    taken = np.full(len(keys), NOT_TAKEN, dtype=np.int16)
    for segment, cut in enumerate(cuts):
        rest = np.flatnonzero(taken == NOT_TAKEN)
        eligible = rest[within_cap(keys[rest], groups[rest], cap, own)]
        above = keys[eligible] > np.uint64(cut.above)
        taken[eligible[above]] = segment
        tied = eligible[keys[eligible] == np.uint64(cut.above)]
        taken[tied[: cut.ties]] = segment
    return taken


def eligible_keys(
    keys: Keys, groups: Keys, cap: int, cuts: list[Cut], own: OwnCaps | None = None
) -> Keys:
    """What the next segment may choose from in this shard, highest first."""
    rest = assign(keys, groups, cap, cuts, own) == NOT_TAKEN
    keys, groups = keys[rest], groups[rest]
    return np.sort(keys[within_cap(keys, groups, cap, own)])[::-1]
