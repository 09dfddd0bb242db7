"""Harmonic centrality: how near a node is to all others, the sum of 1 / distance over those
from which it can be reached (as Common Crawl ranks hosts).

Each node has a counter of the nodes that reach it within t steps, its ball. A step of one bucket
unites each ball with those of the nodes that link to it; balls grow until none does, and each
growth at step t counts for 1/t. With a counter of `2 ** precision` HyperLogLog registers, a byte
each, that is HyperBall (Boldi and Vigna): the relative error of a ball is about `error_of`,
whatever the size of the graph. On small graphs the counter is a bit a node, and the result is
exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from crawl.graph.edges import EdgeBlock

Floats = npt.NDArray[np.float64]
Balls = npt.NDArray[np.uint8]
"""A row a node: its registers, or its bits."""
Flags = npt.NDArray[np.bool_]

_CHUNK_BYTES = 16 << 20
"""Registers that are gathered at a time."""


@dataclass(frozen=True, slots=True)
class ExactCounter:
    """A bit for every node of the graph."""

    node_count: int
    unite: ClassVar[np.ufunc] = np.bitwise_or
    """What makes one ball of two."""
    name: ClassVar[str] = "exact"

    def start(self, first: int, end: int) -> Balls:
        """The balls of nodes that know only themselves: each node's own bit."""
        balls = np.zeros((end - first, (self.node_count + 7) // 8), dtype=np.uint8)
        nodes = np.arange(first, end)
        balls[nodes - first, nodes >> 3] = np.left_shift(1, nodes & 7)
        return balls

    def sizes(self, balls: Balls) -> Floats:
        """How many nodes each ball has: the bits that are set."""
        counts: Floats = np.bitwise_count(balls).sum(axis=1, dtype=np.int64).astype(np.float64)
        return counts


@dataclass(frozen=True, slots=True)
class HyperLogLog:
    """HyperLogLog registers, estimated as by Ertl (no thresholds, no bias at small sizes)."""

    precision: int
    """Base-2 logarithm of the registers a node: 64 bytes each at 6, an error of some 13% a ball,
    which averages out over nodes and distances."""
    seed: int = 0
    """Of the hashes."""
    unite: ClassVar[np.ufunc] = np.maximum
    name: ClassVar[str] = "hyperball"

    def __post_init__(self) -> None:
        if not 4 <= self.precision <= 16:
            raise ValueError(f"a precision of 4 to 16, not {self.precision}")

    def start(self, first: int, end: int) -> Balls:
        """Each node's own hash: the low bits choose the register, the place of the lowest bit of
        the rest is its value."""
        hashes = _hashed(np.arange(first, end, dtype=np.uint64), self.seed)
        count = 1 << self.precision
        rest = (hashes >> np.uint64(self.precision)) | np.uint64(1 << (63 - self.precision))
        lowest = rest & (~rest + np.uint64(1))
        balls = np.zeros((end - first, count), dtype=np.uint8)
        register = (hashes & np.uint64(count - 1)).astype(np.int64)
        balls[np.arange(end - first), register] = np.bitwise_count(lowest - np.uint64(1)) + 1
        return balls

    def sizes(self, balls: Balls) -> Floats:
        """The estimates."""
        count = 1 << self.precision
        powers = np.ldexp(1.0, -np.arange(65))
        powers[0] = 0.0  # registers that are still empty count by the table
        rows = max(_CHUNK_BYTES // (8 * count), 1)
        sums = np.empty(len(balls))
        for start in range(0, len(balls), rows):
            some = balls[start : start + rows]
            empty = (some == 0).sum(axis=1)
            sums[start : start + rows] = powers[some].sum(axis=1) + _of_empty(count)[empty]
        estimates: Floats = count * count / (2.0 * math.log(2.0) * sums)
        return estimates


BallCounter = ExactCounter | HyperLogLog
"""How balls are kept."""


def _of_empty(count: int) -> Floats:
    """Ertl's sigma, times the number of registers, for each number of empty ones."""
    share = np.arange(count) / count
    value, weight = share.copy(), 1.0
    for _ in range(64):
        share = share * share
        value += share * weight
        weight *= 2.0
    return np.append(value * count, np.inf)


def _hashed(numbers: npt.NDArray[np.uint64], seed: int) -> npt.NDArray[np.uint64]:
    """SplitMix64."""
    mixed = numbers + np.uint64((0x9E3779B97F4A7C15 * (seed + 1)) & (1 << 64) - 1)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def ball_step(
    block: EdgeBlock, balls: Balls, has_grown: Flags, counter: BallCounter
) -> tuple[npt.NDArray[np.int64], Balls]:
    """The nodes of a bucket whose balls may grow, and their new balls: each united with those of
    the nodes that link to it. `balls` and `has_grown` are of all nodes: a node that did not grow
    in the last step has nothing new to tell. A few megabytes of registers are read at a time."""
    is_news = has_grown[block.sources]
    sources, destinations = block.sources[is_news], block.destinations[is_news]
    starts = np.flatnonzero(np.diff(destinations, prepend=-1))
    nodes = destinations[starts]
    grown = balls[nodes]
    edges_at_once = max(_CHUNK_BYTES // max(balls.shape[1], 1), 1)
    for begin in range(0, len(sources), edges_at_once):
        end = min(begin + edges_at_once, len(sources))
        low = int(np.searchsorted(starts, begin, side="right")) - 1
        high = int(np.searchsorted(starts, end, side="left"))
        cuts = np.maximum(starts[low:high], begin) - begin
        united = counter.unite.reduceat(balls[sources[begin:end]], cuts, axis=0)
        grown[low:high] = counter.unite(grown[low:high], united)
    return nodes, grown
