"""LinkRank, Nutch's: a page's score is what pages that link to it hand on, by a fixed number of
iterations from the same score for all. Unlike PageRank, scores do not add up to 1, and what pages
without links have is lost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crawl.graph.kernels.kernel import NodeRange, Sums
from crawl.graph.kernels.page_rank import Floats, shares_of


@dataclass(frozen=True, slots=True)
class LinkRank:
    """score = (1 - d) + d · (1 / nodes + what is handed on)."""

    most_iterations: int = 10
    damping: float = 0.85
    initial_score: float = 1.0
    counts_limited: bool = False
    name: str = "linkrank"

    def initial(self, nodes: NodeRange) -> Floats:
        return np.full(len(nodes), self.initial_score)

    def shares(self, scores: Floats, nodes: NodeRange) -> Floats:
        return shares_of(scores, nodes.outdegrees)

    def settle(self, inflow: Floats, nodes: NodeRange, sums: Sums) -> Floats:
        settled: Floats = (1 - self.damping) + self.damping * (1 / nodes.node_count + inflow)
        return settled

    def measure(self, before: Floats, after: Floats, nodes: NodeRange) -> Sums:
        return {"change": float(np.abs(after - before).sum()), "score": float(after.sum())}

    def is_done(self, sums: Sums) -> bool:
        return False
