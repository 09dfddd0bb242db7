"""RankKernel: an iterative rank of nodes, as whoever runs it over buckets needs to know it.

An iteration hands every node what the edges into it carry (`shares`: what its source gives along
each of its edges) and makes the next scores of that. All that is global is a sum over what
buckets measured, so no process ever has more than one vector over all nodes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from crawl.graph.kernels.page_rank import Counts, Floats

Sums = Mapping[str, float]
"""What was measured, by name; those of buckets add up to those of the graph."""


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

    def initial(self, first: int, end: int, node_count: int) -> Floats:
        """The scores of the nodes `first` to `end` to begin with."""
        ...

    def shares(self, scores: Floats, outdegrees: Counts, first: int) -> Floats:
        """What each of the nodes from `first` on gives along each of its edges."""
        ...

    def settle(self, given: Floats, first: int, node_count: int, sums: Sums) -> Floats:
        """The next scores of the nodes from `first` on, by what they were given; `sums` are
        those of the whole graph before."""
        ...

    def measure(self, before: Floats, after: Floats, outdegrees: Counts, first: int) -> Sums:
        """What is to be known of the whole graph: dangling mass, change."""
        ...

    def is_done(self, sums: Sums) -> bool:
        """Whether no further iteration is wanted, by the sums of the last one."""
        ...
