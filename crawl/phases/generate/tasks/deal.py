"""Which part of a fetch list a host's URLs go to, judged by time and not by number.

A host's URLs are fetched one after the other: their number times the delay is a serial
chain that no thread can shorten. Chains are dealt longest first, each to the part with
the least to do (LPT), so that giants end up apart and every part ends at about the same
time. Hosts of one small site stay together: a site's robots.txt often redirects to another
host of the site, and a part may not ask hosts that are another part's.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from crawl.phases.generate.tasks.arrays import Floats, Integers, Keys, Shards


@dataclass(frozen=True, slots=True)
class PartLoad:
    """What one part has to do, and how long that takes at the least."""

    urls: int
    chains: int
    longest_chain_s: float
    makespan_s: float


@dataclass(frozen=True, slots=True)
class Chains:
    """Chains to be dealt; or several short ones as one, which have their sums."""

    number: Keys
    site: Keys
    urls: Integers
    count: Integers
    """How many chains it stands for."""
    seconds: Floats
    longest_s: Floats
    """Of the longest chain that it stands for."""


def chain_seconds(urls: Integers, delay_s: Floats, latency_s: float) -> Floats:
    """How long a chain takes: the delay counts between requests, not after the last."""
    return urls * latency_s + np.maximum(urls - 1, 0) * delay_s


def deal(seconds: Floats, parts: int) -> Shards:
    """The part of each chain."""
    dealt = np.zeros(len(seconds), dtype=np.int32)
    waiting = [(0.0, part) for part in range(parts)]
    for chain in np.argsort(-seconds, kind="stable").tolist():
        busy, part = waiting[0]
        dealt[chain] = part
        heapq.heapreplace(waiting, (busy + float(seconds[chain]), part))
    return dealt


def deal_sites(seconds: Floats, site: Keys, parts: int) -> Shards:
    """The part of each chain; chains of one site go to one part, unless the site would be
    more than half of what a part has to do."""
    sites, place = np.unique(site, return_inverse=True)
    total = np.bincount(place, weights=seconds, minlength=len(sites))
    is_small = total[place] <= seconds.sum() / parts / 2
    units = np.where(is_small, place, len(sites) + np.arange(len(seconds)))
    _, unit = np.unique(units, return_inverse=True)
    return deal(np.bincount(unit, weights=seconds).astype(np.float64), parts)[unit]


def part_loads(
    dealt: Shards, chains: Chains, parts: int, *, threads: int, latency_s: float
) -> list[PartLoad]:
    """Each part's load. A part ends when its longest chain does, or when its threads have
    waited for every answer, whichever is later."""
    described = []
    for part in range(parts):
        mine = dealt == part
        number = int(chains.urls[mine].sum())
        longest = float(chains.longest_s[mine].max(initial=0.0))
        count = int(chains.count[mine].sum())
        described.append(
            PartLoad(number, count, longest, max(longest, number * latency_s / threads))
        )
    return described


def makespan(parts: Sequence[PartLoad]) -> float:
    """When the last part ends, in seconds."""
    return max((part.makespan_s for part in parts), default=0.0)
