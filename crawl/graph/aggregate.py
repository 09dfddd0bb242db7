"""From a graph of pages to that of their hosts or domains."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from crawl.graph.array_edges import ArrayEdges
from crawl.graph.edges import EdgeBlock, EdgeBuckets

Nodes = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class GroupLinks:
    """Links between groups, in order of source and destination, each pair once."""

    sources: Nodes
    destinations: Nodes
    pages: Nodes
    """How many edges of the page graph each stands for."""


def group_step(block: EdgeBlock, group_of: Nodes, *, internal: bool = False) -> GroupLinks:
    """The links between groups that the edges of one bucket make; those within a group only where
    `internal`. `group_of` is the group of each node."""
    return links_between(group_of[block.sources], group_of[block.destinations], internal=internal)


def links_between(sources: Nodes, destinations: Nodes, *, internal: bool = False) -> GroupLinks:
    """The links between groups, by those of the two ends of each edge."""
    if not internal:
        leaves = sources != destinations
        sources, destinations = sources[leaves], destinations[leaves]
    return summed_links(sources, destinations, np.ones(len(sources), dtype=np.int64))


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


def summed_links(sources: Nodes, destinations: Nodes, pages: Nodes) -> GroupLinks:
    """Links of which a pair may be there several times."""
    if len(sources) == 0:
        return GroupLinks(sources, destinations, pages)
    order = np.lexsort((destinations, sources))
    sources, destinations, pages = sources[order], destinations[order], pages[order]
    is_new = np.ones(len(sources), dtype=np.bool_)
    is_new[1:] = (sources[1:] != sources[:-1]) | (destinations[1:] != destinations[:-1])
    starts = np.flatnonzero(is_new)
    return GroupLinks(sources[starts], destinations[starts], np.add.reduceat(pages, starts))
