"""From a whole graph of pages to that of their hosts or domains."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from crawl.graph.aggregate import GroupLinks, Nodes, links_between, summed_links
from crawl.graph.edges import EdgeBlock
from tests.graph.reference.array_edges import ArrayEdges, EdgeBuckets


def group_step(block: EdgeBlock, group_of: Nodes, *, internal: bool = False) -> GroupLinks:
    """The links between groups that the edges of one bucket make; those within a group only where
    `internal`. `group_of` is the group of each node."""
    sources, destinations = group_of[block.sources], group_of[block.destinations]
    if internal:
        return summed_links(sources, destinations, np.ones(len(sources), dtype=np.int64))
    return links_between(sources, destinations)


def merge_links(parts: Iterable[GroupLinks]) -> GroupLinks:
    """What several buckets made, as one."""
    every = list(parts)
    none = np.zeros(0, dtype=np.int64)
    return summed_links(
        np.concatenate([none, *(part.sources for part in every)]),
        np.concatenate([none, *(part.destinations for part in every)]),
        np.concatenate([none, *(part.pages for part in every)]),
    )


def aggregate(
    edges: EdgeBuckets, group_of: Nodes, group_count: int, *, internal: bool = False
) -> tuple[ArrayEdges, GroupLinks]:
    """The graph of groups, in which a link is there once, and how many links of pages each of its
    edges stands for."""
    buckets = range(len(edges.bounds) - 1)
    links = merge_links(
        group_step(edges.block(bucket), group_of, internal=internal) for bucket in buckets
    )
    return ArrayEdges.of(links.sources, links.destinations, group_count), links


def sums_by_group(
    values: npt.ArrayLike, group_of: Nodes, group_count: int
) -> npt.NDArray[np.float64]:
    """The sum of the nodes' values (their ranks) in each group."""
    sums = np.bincount(group_of, weights=np.asarray(values), minlength=group_count)
    return sums.astype(np.float64, copy=False)
