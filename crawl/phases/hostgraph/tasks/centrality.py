"""Harmonic centrality over the buckets of a graph: one distance a step (see the kernel).

Every node has a row of bytes: its ball, and whether that grew in the last step. A task owns the
nodes of neighbouring files; it maps the rows of all nodes, unites its own with those of the nodes
that link to them, and leaves its share of the next rows in a file.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from crawl.graph.kernels.harmonic import BallCounter, Floats, ball_step
from crawl.phases.webgraph.tasks.graph import StoredGraph
from crawl.phases.webgraph.tasks.vectors import (
    Bytes,
    VectorPiece,
    read_piece,
    whole_rows,
    write_piece,
)
from crawl.storage.folder import Folder


@dataclass(frozen=True)
class CentralityTask:
    """Neighbouring files of nodes, and what is known of their nodes so far."""

    parts: range
    rows: VectorPiece | None = None
    """Their balls."""
    sizes: VectorPiece | None = None
    totals: VectorPiece | None = None
    """Their centralities."""


@dataclass(frozen=True)
class CentralityJob:
    """A step of the harmonic centrality: the graph, the counters of nodes, and the rows of all
    nodes before it."""

    graph: StoredGraph
    counter: BallCounter
    scratch: Folder
    distance: int = 0
    pieces: tuple[VectorPiece, ...] = field(default=())
    """The rows of all nodes, before the step."""
    width: int = 0
    """Bytes of each."""


@dataclass(frozen=True, slots=True)
class CentralityTaskResult:
    """The task with what is known now, how many balls grew, and the bytes of a row."""

    task: CentralityTask
    grown: int
    width: int

    @property
    def paths(self) -> list[str]:
        """The files that the next step replaces."""
        pieces = (self.task.rows, self.task.sizes, self.task.totals)
        return [piece.path for piece in pieces if piece is not None]


def begin_centrality(job: CentralityJob, task: CentralityTask) -> CentralityTaskResult:
    """Balls of which each is its node alone."""
    first, end = job.graph.nodes_of(task.parts)
    balls = job.counter.start(first, end)
    grown = np.ones(len(balls), dtype=np.bool_)
    sizes = job.counter.sizes(balls)
    return _written(job, task, first, balls, grown, sizes, np.zeros(len(balls)))


def widen_balls(job: CentralityJob, task: CentralityTask) -> CentralityTaskResult:
    """The balls of a task's nodes one step farther."""
    assert task.sizes is not None and task.totals is not None
    graph, counter = job.graph, job.counter
    first, end = graph.nodes_of(task.parts)
    rows = whole_rows(job.scratch, job.pieces, graph.node_count, job.width)
    balls, has_grown = rows[:, :-1], rows[:, -1].astype(np.bool_)
    current = balls[first:end].copy()
    for part in task.parts:
        for block in graph.blocks(part):
            nodes, united = ball_step(block, balls, has_grown, counter)
            # the links to a node may lie in two blocks
            current[nodes - first] = counter.unite(current[nodes - first], united)
    grown = (current != balls[first:end]).any(axis=1)
    sizes = read_piece(job.scratch, task.sizes).copy()
    totals = read_piece(job.scratch, task.totals).copy()
    reached = counter.sizes(current[grown])
    # an estimate may fall by rounding where it should stand still
    totals[grown] += np.maximum(reached - sizes[grown], 0.0) / job.distance
    sizes[grown] = reached
    return _written(job, task, first, current, grown, sizes, totals)


def _written(
    job: CentralityJob,
    task: CentralityTask,
    first: int,
    balls: Bytes,
    grown: np.ndarray[tuple[int], np.dtype[np.bool_]],
    sizes: Floats,
    totals: Floats,
) -> CentralityTaskResult:
    rows = np.concatenate([balls, grown[:, None].astype(np.uint8)], axis=1)
    return CentralityTaskResult(
        CentralityTask(
            task.parts,
            write_piece(job.scratch, f"balls-{first}", first, rows),
            write_piece(job.scratch, f"sizes-{first}", first, sizes),
            write_piece(job.scratch, f"harmonic-{first}", first, totals),
        ),
        int(np.count_nonzero(grown)),
        rows.shape[1],
    )
