"""PageRank: where a surfer is who follows links at random and now and then begins anew.

What one bucket contributes is one `rank_step`: it reads its edges and the vector of shares (each
node's rank over its out-degree), and returns the sums for its own nodes. Everything global is a
sum of what buckets return: the rank of nodes without links (dangling, which begin anew from where
they are) and the change since the last iteration. So a driver may run the steps wherever the
buckets lie and combine them with `settle`.

With a `teleport` vector the surfer begins anew where that says (personalised PageRank); with
`voting` a node hands on that share of its rank alone, and the rest begins anew.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from crawl.graph.edges import EdgeBlock

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]


def shares_of(ranks: Floats, degrees: Counts, voting: Floats | None = None) -> Floats:
    """What each node gives along each of its edges."""
    outflow = ranks if voting is None else ranks * voting
    return np.divide(outflow, degrees, out=np.zeros(len(ranks)), where=degrees > 0)


def rank_step(block: EdgeBlock, first: int, end: int, shares: Floats) -> Floats:
    """What the nodes `first` to `end` of a bucket are given along its edges."""
    inflow = np.bincount(
        block.destinations - first, weights=shares[block.sources], minlength=end - first
    )
    return inflow.astype(np.float64, copy=False)


def kept_back(ranks: Floats, degrees: Counts, voting: Floats | None = None) -> float:
    """The rank that follows no edge: that of dangling nodes, and what may not vote."""
    if voting is None:
        return float(ranks[degrees == 0].sum())
    return float((ranks * np.where(degrees == 0, 1.0, 1.0 - voting)).sum())


def settle(inflow: Floats, beginnings: float, teleport: Floats, damping: float) -> Floats:
    """The new ranks of nodes, from what they were given along edges and their part of what begins
    anew; `beginnings` is `kept_back` of all nodes."""
    settled: Floats = damping * inflow + (damping * beginnings + 1.0 - damping) * teleport
    return settled
