"""PageRank of a whole graph; `teleport` and `voting` as in `crawl/graph/kernels/page_rank.py`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from crawl.graph.edges import EdgeBlock
from crawl.graph.kernels.page_rank import Counts, Floats, kept_back, rank_step, settle, shares_of
from tests.graph.reference.array_edges import EdgeBuckets


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
