"""One iteration of a rank, over the edges into some of the nodes.

A task owns the nodes of neighbouring files. It streams the edges into them past the vector of
what every node gives along its edges, and leaves its nodes' share of the next one in a file. The
driver hears of file names and sums, and has no vector itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from crawl.buckets.bucket_files import BucketTarget, write_bucket
from crawl.buckets.webgraph.graph import StoredGraph
from crawl.buckets.webgraph.vectors import VectorPiece, read_piece, whole_vector, write_piece
from crawl.graph.kernels.kernel import RankKernel, Sums
from crawl.graph.kernels.page_rank import Counts, Floats, rank_step
from crawl.model.tables import WEBGRAPH_SCORES
from crawl.storage.folder import Folder
from crawl.storage.manifest import BucketFile

_EDGES_A_TASK = 1 << 21
"""That are worth a task of their own."""


@dataclass(frozen=True, slots=True)
class RankTask:
    """Neighbouring files of nodes, and what is known of their nodes so far."""

    parts: range
    edges: int
    scores: VectorPiece | None = None

    @property
    def rows(self) -> int:
        return self.edges


@dataclass(frozen=True)
class RankJob:
    """What every task of an iteration needs to know."""

    graph: StoredGraph
    kernel: RankKernel
    scratch: Folder
    shares: tuple[VectorPiece, ...] = ()
    """What every node gives along its edges."""
    sums: Sums = field(default_factory=dict)
    """What was measured of the whole graph in the iteration before."""


@dataclass(frozen=True, slots=True)
class RankTaskResult:
    """Where the next scores and shares of a task's nodes are, and what was measured of them."""

    scores: VectorPiece
    shares: VectorPiece
    sums: Sums


def rank_tasks(graph: StoredGraph) -> list[RankTask]:
    """The files of nodes in neighbouring bundles that are worth a task each."""
    tasks: list[RankTask] = []
    begin = edges = 0
    for part in range(len(graph.nodes)):
        edges += graph.edges[part].rows if part in graph.edges else 0
        if edges >= _EDGES_A_TASK or part == len(graph.nodes) - 1:
            tasks.append(RankTask(range(begin, part + 1), edges))
            begin, edges = part + 1, 0
    return tasks


def begin_rank(job: RankJob, task: RankTask) -> RankTaskResult:
    """The scores to begin with."""
    first, end = _nodes_of(job.graph, task)
    scores = job.kernel.initial(first, end, job.graph.node_count)
    return _written(job, first, scores, scores, _outdegrees(job.graph, task.parts))


def iterate_rank(job: RankJob, task: RankTask) -> RankTaskResult:
    """The next scores of a task's nodes."""
    assert task.scores is not None
    graph = job.graph
    first, end = _nodes_of(graph, task)
    shares = whole_vector(job.scratch, job.shares, graph.node_count)
    given = np.zeros(end - first)
    for part in task.parts:
        low, high = graph.range_of(part)
        for block in graph.blocks(part):
            given[low - first : high - first] += rank_step(block, low, high, shares)
    before = read_piece(job.scratch, task.scores)
    after = job.kernel.settle(given, first, graph.node_count, job.sums)
    return _written(job, first, before, after, _outdegrees(graph, task.parts))


def _nodes_of(graph: StoredGraph, task: RankTask) -> tuple[int, int]:
    return int(graph.bounds[task.parts[0]]), int(graph.bounds[task.parts[-1] + 1])


def _outdegrees(graph: StoredGraph, parts: Sequence[int]) -> Counts:
    return np.concatenate([graph.outdegrees(part) for part in parts])


def _written(
    job: RankJob, first: int, before: Floats, after: Floats, outdegrees: Counts
) -> RankTaskResult:
    return RankTaskResult(
        write_piece(job.scratch, f"scores-{first}", first, after),
        write_piece(
            job.scratch, f"shares-{first}", first, job.kernel.shares(after, outdegrees, first)
        ),
        job.kernel.measure(before, after, outdegrees, first),
    )


def scores_target(folder: Folder, place: str) -> BucketTarget:
    """Where new files of scores go: beside those of the nodes."""
    return BucketTarget(WEBGRAPH_SCORES, folder, place, stem="scores")


def write_scores(job: RankJob, target: BucketTarget, task: RankTask) -> list[BucketFile]:
    """The files of the scores of a task's nodes, one beside each of the nodes'."""
    assert task.scores is not None
    scores = read_piece(job.scratch, task.scores)
    files: list[BucketFile] = []
    for part in task.parts:
        first, end = job.graph.range_of(part)
        values = scores[first - task.scores.first : end - task.scores.first]
        rows = pa.table([np.arange(first, end), values], schema=WEBGRAPH_SCORES.schema)
        files += write_bucket(target, part, [rows])
    return files
