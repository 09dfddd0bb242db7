"""Edges of a graph as arrays, bucket by bucket."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt


class EdgeBlock(NamedTuple):
    """Edges into nodes of one bucket: parallel arrays of node numbers."""

    sources: npt.NDArray[np.int64]
    destinations: npt.NDArray[np.int64]


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
