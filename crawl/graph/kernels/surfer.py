"""PageRank and distrust as kernels, for whoever iterates over buckets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crawl.graph.kernels.kernel import NodeRange, Sums
from crawl.graph.kernels.page_rank import Floats, kept_back, settle, shares_of


@dataclass(frozen=True, slots=True)
class PageRank:
    """Where a surfer is who follows links, and begins anew now and then; scores add up to 1."""

    most_iterations: int = 100
    damping: float = 0.85
    tolerance: float = 1e-6
    """The iteration ends when the scores change by less than this in all."""
    teleport_total: float = 1.0
    """The sum of `NodeRange.teleport` over all nodes, where they have any."""
    counts_limited: bool = True
    name: str = "pagerank"

    def initial(self, nodes: NodeRange) -> Floats:
        return self._beginnings(nodes)

    def shares(self, scores: Floats, nodes: NodeRange) -> Floats:
        return shares_of(scores, nodes.outdegrees, nodes.voting)

    def settle(self, inflow: Floats, nodes: NodeRange, sums: Sums) -> Floats:
        return settle(inflow, sums["kept_back"], self._beginnings(nodes), self.damping)

    def measure(self, before: Floats, after: Floats, nodes: NodeRange) -> Sums:
        return {
            "kept_back": kept_back(after, nodes.outdegrees, nodes.voting),
            "change": float(np.abs(after - before).sum()),
            "score": float(after.sum()),
        }

    def is_done(self, sums: Sums) -> bool:
        return sums["change"] < self.tolerance

    def _beginnings(self, nodes: NodeRange) -> Floats:
        if nodes.teleport is None:
            return np.full(len(nodes), 1.0 / nodes.node_count)
        return nodes.teleport / self.teleport_total


@dataclass(frozen=True, slots=True)
class Distrust:
    """How near nodes are to denied ones along their links: the chance that a surfer who follows
    links from a node comes to a denied one before he gives up. It is 1 at denied nodes, high at
    those that link to little else (Anti-TrustRank: who links to spam is spam; whom spam links to
    cannot help it). It runs on the graph with all edges turned round, so that a node is given what
    its links lead to; the denied nodes are those whose `voting` is 0."""

    most_iterations: int = 100
    damping: float = 0.85
    tolerance: float = 1e-6
    """The iteration ends when no node's distrust changes by this."""
    counts_limited: bool = True
    name: str = "distrust"

    def initial(self, nodes: NodeRange) -> Floats:
        return _denied(nodes).astype(np.float64)

    def shares(self, scores: Floats, nodes: NodeRange) -> Floats:
        return scores

    def settle(self, inflow: Floats, nodes: NodeRange, sums: Sums) -> Floats:
        mean = inflow / np.maximum(nodes.outdegrees, 1)
        return np.where(_denied(nodes), 1.0, self.damping * mean)

    def measure(self, before: Floats, after: Floats, nodes: NodeRange) -> Sums:
        beginnings = np.ones(len(nodes)) if nodes.teleport is None else nodes.teleport
        return {
            "unsettled": float(np.count_nonzero(np.abs(after - before) >= self.tolerance)),
            "teleport": float((beginnings * (1.0 - after)).sum()),
        }

    def is_done(self, sums: Sums) -> bool:
        return sums["unsettled"] == 0


def _denied(nodes: NodeRange) -> Floats:
    assert nodes.voting is not None
    denied: Floats = nodes.voting == 0.0
    return denied
