"""Graphs for tests: any small one, and power laws of any size."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st


class Drawn(NamedTuple):
    """A small graph, and in how many buckets it lies."""

    node_count: int
    edges: list[tuple[int, int]]
    buckets: int

    @property
    def sources(self) -> npt.NDArray[np.int64]:
        return np.array([source for source, _ in self.edges], np.int64)

    @property
    def destinations(self) -> npt.NDArray[np.int64]:
        return np.array([destination for _, destination in self.edges], np.int64)


@st.composite
def drawn_graphs(draw: st.DrawFn, least: int = 0) -> Drawn:
    """Dangling nodes, loops, edges that come twice, no edge, one node, no node."""
    count = draw(st.integers(least, 12))
    node = st.integers(0, max(count - 1, 0))
    edges = draw(st.lists(st.tuples(node, node), max_size=40 if count else 0))
    return Drawn(count, edges, draw(st.integers(1, 5)))


def power_law(
    nodes: int, edges: int, seed: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Edges from anywhere, most of them to few nodes."""
    random = np.random.default_rng(seed)
    sources = random.integers(0, nodes * 9 // 10, edges)
    destinations = (nodes * random.random(edges) ** 3).astype(np.int64)
    return sources, destinations
