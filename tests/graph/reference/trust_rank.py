"""Trust: PageRank from nodes that are trusted, in which nodes near denied ones have little say.

`distrust` is that of `crawl/graph/kernels/surfer.py`. `trust_rank` is a PageRank whose surfer
begins at the seeds and in which a node hands on rank only as far as it is trusted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from crawl.graph.edges import EdgeBlock
from crawl.graph.kernels.page_rank import Floats
from tests.graph.reference.array_edges import EdgeBuckets
from tests.graph.reference.page_rank import (
    RankOptions,
    RankResult,
    normalized,
    out_degrees,
    page_rank,
    teleport_to,
)


@dataclass(frozen=True, slots=True, eq=False)
class TrustResult:
    """The ranks, and how far each node is distrusted, from 0 to 1."""

    rank: RankResult
    distrust: Floats


def distrust_step(block: EdgeBlock, node_count: int, distrust: Floats) -> Floats:
    """The distrust that the edges of a bucket lead to, summed by the node that they leave."""
    sums = np.bincount(block.sources, weights=distrust[block.destinations], minlength=node_count)
    return sums.astype(np.float64, copy=False)


def distrust(
    edges: EdgeBuckets, denied: npt.ArrayLike, options: RankOptions | None = None
) -> Floats:
    """How near each node is to the denied ones, along its links."""
    options = options or RankOptions()
    is_denied = np.zeros(edges.node_count, dtype=np.bool_)
    is_denied[np.asarray(denied, np.int64)] = True
    degrees = np.maximum(out_degrees(edges), 1)
    current = is_denied.astype(np.float64)
    for _ in range(options.max_iterations):
        sums = np.zeros(edges.node_count)
        for bucket in range(len(edges.bounds) - 1):
            sums += distrust_step(edges.block(bucket), edges.node_count, current)
        following = np.where(is_denied, 1.0, options.damping * sums / degrees)
        change = float(np.abs(following - current).max(initial=0.0))
        current = following
        if change < options.tolerance:
            break
    return current


def trust_rank(
    edges: EdgeBuckets,
    denied: npt.ArrayLike,
    options: RankOptions | None = None,
    *,
    seeds: npt.ArrayLike | None = None,
) -> TrustResult:
    """Ranks in which denied nodes, and those that lead to them, say little. Without seeds
    the surfer begins anywhere, as far as it is trusted; ValueError where no seed is."""
    known = distrust(edges, denied, options)
    trusted = 1.0 - known
    if edges.node_count == 0:
        return TrustResult(page_rank(edges, options), known)
    teleport = normalized(teleport_to(seeds, edges.node_count) * trusted)
    return TrustResult(page_rank(edges, options, teleport=teleport, voting=trusted), known)
