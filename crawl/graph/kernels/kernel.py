"""RankKernel: an iterative rank of nodes, as whoever runs it over buckets needs to know it.

An iteration hands every node what the edges into it carry (`shares`: what its source gives along
each of its edges) and makes the next scores of that. All that is global is a sum over what
buckets measured, so no process ever has more than one vector over all nodes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from crawl.graph.kernels.page_rank import Counts, Floats

Sums = Mapping[str, float]
"""What was measured, by name; those of buckets add up to those of the graph."""


@dataclass(frozen=True, slots=True, eq=False)
class NodeRange:
    """The nodes `first` to `end` of a graph, and what is known of them before the first
    iteration."""

    first: int
    end: int
    node_count: int
    """Of the whole graph."""
    outdegrees: Counts
    teleport: Floats | None = None
    """How much more likely than at others a surfer begins at each; None: alike at all."""
    voting: Floats | None = None
    """The share of its score that each hands on; None: all of it."""

    def __len__(self) -> int:
        return self.end - self.first


class RankKernel(Protocol):
    """One way to rank nodes. It is sent to tasks: small, and picklable."""

    @property
    def name(self) -> str: ...

    @property
    def most_iterations(self) -> int: ...

    @property
    def counts_limited(self) -> bool:
        """Whether links count that are one of several of a site."""
        ...

    def initial(self, nodes: NodeRange) -> Floats:
        """The scores to begin with."""
        ...

    def shares(self, scores: Floats, nodes: NodeRange) -> Floats:
        """What each of the nodes gives along each of its edges."""
        ...

    def settle(self, inflow: Floats, nodes: NodeRange, sums: Sums) -> Floats:
        """The next scores of the nodes, by what they were given; `sums` are those of the whole
        graph before."""
        ...

    def measure(self, before: Floats, after: Floats, nodes: NodeRange) -> Sums:
        """What is to be known of the whole graph: dangling mass, change."""
        ...

    def is_done(self, sums: Sums) -> bool:
        """Whether no further iteration is wanted, by the sums of the last one."""
        ...
