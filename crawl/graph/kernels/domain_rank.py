"""PageRank for the order of a crawl: a surfer begins anew where the pages of a domain rank high.

Plain PageRank begins anew at all pages alike, also at those that nobody has fetched, and a farm has
as many beginnings as it made up pages. Here a page is begun at in proportion to the mean rank of
its domain's known pages, by the plain one: a page more makes that mean lower, unless others link
to it. The rule has one parameter, the damping (`link.analyze.domain.damping.factor`): with less of
it a rank that was caught by one link is handed on less far. A farm whose graph is closed and known
as a whole is not held back by it. What it does for a crawl is in scripts/bench/README.md, `order`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from crawl.graph.aggregate import sums_by_group
from crawl.graph.edges import EdgeBuckets
from crawl.graph.kernels.page_rank import Floats, RankOptions, RankResult, page_rank

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
