"""From a graph of pages to that of their hosts or domains."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Nodes = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class GroupLinks:
    """Links between groups, in order of source and destination, each pair once."""

    sources: Nodes
    destinations: Nodes
    pages: Nodes
    """How many edges of the page graph each stands for."""


def links_between(sources: Nodes, destinations: Nodes) -> GroupLinks:
    """The links between groups, by those of the two ends of each edge; none within a group."""
    leaves = sources != destinations
    ones = np.ones(int(leaves.sum()), dtype=np.int64)
    return summed_links(sources[leaves], destinations[leaves], ones)


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
