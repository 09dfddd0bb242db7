"""PageRank of a whole graph whose surfer begins anew where the pages of a domain rank high; why, is
told in crawl/phases/webgraph/tasks/domain_means.py."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from crawl.graph.kernels.page_rank import Floats
from tests.graph.reference.aggregate import sums_by_group
from tests.graph.reference.array_edges import EdgeBuckets
from tests.graph.reference.page_rank import RankOptions, RankResult, page_rank

Nodes = npt.NDArray[np.int64]


def mean_ranks(ranks: Floats, domain_of: Nodes, domain_count: int) -> Floats:
    """The mean rank of the nodes of each domain; 0 for one that has none."""
    pages = np.bincount(domain_of, minlength=domain_count)
    return sums_by_group(ranks, domain_of, domain_count) / np.maximum(pages, 1)


def domain_rank(
    edges: EdgeBuckets,
    domain_of: Nodes,
    domain_count: int,
    options: RankOptions,
    *,
    teleport: Floats | None = None,
) -> RankResult:
    """The ranks of all nodes; `domain_of` is the domain of each. With a `teleport` vector a
    surfer begins at a node by both."""
    plain = page_rank(edges, options, teleport=teleport)
    if edges.node_count == 0:
        return plain
    beginnings = mean_ranks(plain.ranks, domain_of, domain_count)[domain_of]
    if teleport is not None:
        beginnings = beginnings * teleport
    return page_rank(edges, options, teleport=beginnings)
