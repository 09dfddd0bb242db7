"""PageRank: where a surfer is who follows links at random and now and then begins anew.

What one bucket contributes is one `rank_step`: it reads its edges and the vector of shares (each
node's rank over its out-degree), and returns the sums for its own nodes. Everything global is a
sum of what buckets return: the rank of nodes without links (dangling, which begin anew from where
they are) and the change since the last iteration. So a driver may run the steps wherever the
buckets lie and combine them with `settle`; `page_rank` does it here.

With a `teleport` vector the surfer begins anew where that says (personalised PageRank); with
`voting` a node hands on that share of its rank alone, and the rest begins anew.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from crawl.graph.edges import EdgeBlock, EdgeBuckets

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RankOptions:
    """How far a rank is computed."""

    damping: float = 0.85
    tolerance: float = 1e-9
    """The iteration ends when the ranks, which add up to 1, change by less than this in all."""
    max_iterations: int = 200


@dataclass(frozen=True, slots=True, eq=False)
class RankResult:
    """The rank of each node; they add up to 1."""

    ranks: Floats
    iterations: int
    change: float
    """By how much the last iteration changed the ranks in all."""

    def has_converged(self, options: RankOptions) -> bool:
        """Whether the tolerance was reached."""
        return self.change < options.tolerance


def out_degrees(edges: EdgeBuckets) -> Counts:
    """How many edges leave each node."""
    degrees = np.zeros(edges.node_count, dtype=np.int64)
    for bucket in range(len(edges.bounds) - 1):
        degrees += degree_step(edges.block(bucket), edges.node_count)
    return degrees


def degree_step(block: EdgeBlock, node_count: int) -> Counts:
    """How many edges of one bucket leave each node."""
    return np.bincount(block.sources, minlength=node_count)


def shares_of(ranks: Floats, degrees: Counts, voting: Floats | None = None) -> Floats:
    """What each node gives along each of its edges."""
    given = ranks if voting is None else ranks * voting
    return np.divide(given, degrees, out=np.zeros(len(ranks)), where=degrees > 0)


def rank_step(block: EdgeBlock, first: int, end: int, shares: Floats) -> Floats:
    """What the nodes `first` to `end` of a bucket are given along its edges."""
    given = np.bincount(
        block.destinations - first, weights=shares[block.sources], minlength=end - first
    )
    return given.astype(np.float64, copy=False)


def kept_back(ranks: Floats, degrees: Counts, voting: Floats | None = None) -> float:
    """The rank that follows no edge: that of dangling nodes, and what may not vote."""
    if voting is None:
        return float(ranks[degrees == 0].sum())
    return float((ranks * np.where(degrees == 0, 1.0, 1.0 - voting)).sum())


def settle(given: Floats, beginnings: float, teleport: Floats, damping: float) -> Floats:
    """The new ranks of nodes, from what they were given along edges and their part of what begins
    anew; `beginnings` is `kept_back` of all nodes."""
    settled: Floats = damping * given + (damping * beginnings + 1.0 - damping) * teleport
    return settled


def teleport_to(nodes: npt.ArrayLike | None, node_count: int) -> Floats:
    """The surfer begins anew at one of these nodes; at any where it is None. Weights add up
    where a node is named twice."""
    if nodes is None:
        return np.full(node_count, 1.0 / max(node_count, 1))
    weights = np.bincount(np.asarray(nodes, np.int64), minlength=node_count).astype(np.float64)
    return normalized(weights)


def normalized(weights: Floats) -> Floats:
    """Weights that add up to 1; ValueError where there are none."""
    total = float(weights.sum())
    if not total > 0:
        raise ValueError("no node at which a surfer may begin")
    return weights / total


def page_rank(
    edges: EdgeBuckets,
    options: RankOptions | None = None,
    *,
    teleport: Floats | None = None,
    voting: Floats | None = None,
    start: Floats | None = None,
) -> RankResult:
    """The ranks of all nodes, iterated in this process. `start` is a guess to begin with, such as
    the ranks of a smaller graph, which saves iterations and changes nothing else."""
    options = options or RankOptions()
    count = edges.node_count
    if count == 0:
        return RankResult(np.zeros(0), 0, 0.0)
    degrees = out_degrees(edges)
    beginnings = teleport_to(None, count) if teleport is None else normalized(teleport)
    ranks = beginnings if start is None else normalized(start)
    change, iteration = float("inf"), 0
    while iteration < options.max_iterations and change >= options.tolerance:
        shares = shares_of(ranks, degrees, voting)
        lost = kept_back(ranks, degrees, voting)
        settled = np.empty(count)
        change = 0.0
        for bucket in range(len(edges.bounds) - 1):
            first, end = (int(bound) for bound in edges.bounds[bucket : bucket + 2])
            given = rank_step(edges.block(bucket), first, end, shares)
            settled[first:end] = settle(given, lost, beginnings[first:end], options.damping)
            change += float(np.abs(settled[first:end] - ranks[first:end]).sum())
        ranks = settled
        iteration += 1
    return RankResult(ranks, iteration, change)
