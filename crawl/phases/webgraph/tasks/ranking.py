"""One iteration of a rank, over the edges into some of the nodes.

A task owns the nodes of neighbouring files. It streams the edges into them past the vector of
what every node gives along its edges, and leaves its nodes' share of the next one in a file. The
driver hears of file names and sums, and has no vector itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from crawl.graph.kernels.kernel import NodeRange, RankKernel, Sums
from crawl.graph.kernels.page_rank import Floats, rank_step
from crawl.model.derived_tables import WEBGRAPH_SCORES
from crawl.phases.webgraph.tasks.graph import StoredGraph
from crawl.phases.webgraph.tasks.vectors import VectorPiece, read_piece, whole_vector, write_piece
from crawl.storage.folder import Folder
from crawl.storage.manifest import BucketFile
from crawl.tables.bucket_files import BucketTarget, write_bucket

_EDGES_PER_TASK = 1 << 21
"""That are worth a task of their own."""


@dataclass(frozen=True, slots=True)
class RankTask:
    """Neighbouring files of nodes, and what is known of their nodes so far."""

    parts: range
    rows: int
    """Edges into these nodes."""
    scores: VectorPiece | None = None
    teleport: VectorPiece | None = None
    voting: VectorPiece | None = None
    """These three as in `NodeRange`."""


@dataclass(frozen=True)
class RankJob:
    """An iteration of a rank: the graph, the kernel, and the shares and sums of the iteration
    before."""

    graph: StoredGraph
    kernel: RankKernel
    scratch: Folder
    shares: tuple[VectorPiece, ...] = ()
    """The share that every node gives along each of its edges."""
    sums: Sums = field(default_factory=dict)
    """The measures of the whole graph after the iteration before."""


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
        if edges >= _EDGES_PER_TASK or part == len(graph.nodes) - 1:
            tasks.append(RankTask(range(begin, part + 1), edges))
            begin, edges = part + 1, 0
    return tasks


def begin_rank(job: RankJob, task: RankTask) -> RankTaskResult:
    """The scores to begin with."""
    nodes = node_range(job, task)
    scores = job.kernel.initial(nodes)
    return _written(job, nodes, scores, scores)


def iterate_rank(job: RankJob, task: RankTask) -> RankTaskResult:
    """The next scores of a task's nodes."""
    assert task.scores is not None
    graph = job.graph
    nodes = node_range(job, task)
    shares = whole_vector(job.scratch, job.shares, graph.node_count)
    inflow = np.zeros(len(nodes))
    for part in task.parts:
        low, high = graph.range_of(part)
        for block in graph.blocks(part):
            inflow[low - nodes.first : high - nodes.first] += rank_step(block, low, high, shares)
    before = read_piece(job.scratch, task.scores)
    return _written(job, nodes, before, job.kernel.settle(inflow, nodes, job.sums))


def node_range(job: RankJob, task: RankTask) -> NodeRange:
    """The nodes of a task, with what is known of them."""
    graph = job.graph
    first, end = graph.nodes_of(task.parts)
    return NodeRange(
        first,
        end,
        graph.node_count,
        np.concatenate([graph.counts_of(part, "outlinks") for part in task.parts]),
        None if task.teleport is None else read_piece(job.scratch, task.teleport),
        None if task.voting is None else read_piece(job.scratch, task.voting),
    )


def _written(job: RankJob, nodes: NodeRange, before: Floats, after: Floats) -> RankTaskResult:
    first = nodes.first
    return RankTaskResult(
        write_piece(job.scratch, f"scores-{first}", first, after),
        write_piece(job.scratch, f"shares-{first}", first, job.kernel.shares(after, nodes)),
        job.kernel.measure(before, after, nodes),
    )


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
