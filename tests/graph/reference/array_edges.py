"""A graph in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from crawl.graph.edges import EdgeBlock

Nodes = npt.NDArray[np.int64]


class EdgeBuckets(Protocol):
    """A graph whose edges are stored by destination: each bucket owns a contiguous range of
    nodes."""

    @property
    def node_count(self) -> int: ...

    @property
    def bounds(self) -> npt.NDArray[np.int64]:
        """The first node of each bucket, and at the end the number of nodes."""
        ...

    def block(self, bucket: int) -> EdgeBlock:
        """The edges into the nodes of a bucket, destinations ascending; multi-edges occur once
        unless they count."""
        ...


@dataclass(frozen=True, eq=False)
class ArrayEdges:
    """Edges in two arrays, sorted by destination, then source; made by `of`."""

    sources: Nodes
    destinations: Nodes
    bounds: Nodes

    @classmethod
    def of(
        cls,
        sources: npt.ArrayLike,
        destinations: npt.ArrayLike,
        node_count: int,
        *,
        buckets: int = 1,
        multi_edges: bool = False,
    ) -> ArrayEdges:
        """A graph of edges in any order. Where `multi_edges` count, an edge that comes twice
        weighs double; else it is there once."""
        of, to = np.asarray(sources, np.int64), np.asarray(destinations, np.int64)
        if of.shape != to.shape:
            raise ValueError(f"{len(of)} sources and {len(to)} destinations")
        ends = (of, to) if len(of) else ()
        if any(int(each.min()) < 0 or int(each.max()) >= node_count for each in ends):
            raise ValueError(f"an edge leads beyond the {node_count} nodes")
        order = np.lexsort((of, to))
        of, to = of[order], to[order]
        if not multi_edges and len(of):
            is_new = np.ones(len(of), dtype=np.bool_)
            is_new[1:] = (of[1:] != of[:-1]) | (to[1:] != to[:-1])
            of, to = of[is_new], to[is_new]
        bounds = np.linspace(0, node_count, max(buckets, 1) + 1).astype(np.int64)
        return cls(of, to, bounds)

    @property
    def node_count(self) -> int:
        """How many nodes there are, those without edges included."""
        return int(self.bounds[-1])

    @property
    def edge_count(self) -> int:
        """How many edges there are."""
        return len(self.sources)

    def block(self, bucket: int) -> EdgeBlock:
        """The edges into the nodes of a bucket."""
        first, end = np.searchsorted(self.destinations, self.bounds[bucket : bucket + 2])
        return EdgeBlock(self.sources[first:end], self.destinations[first:end])

    def reversed(self) -> ArrayEdges:
        """The same graph with every edge turned round."""
        return ArrayEdges.of(
            self.destinations,
            self.sources,
            self.node_count,
            buckets=len(self.bounds) - 1,
            multi_edges=True,
        )
