"""Harmonic centrality of a graph's nodes, and their places by a value, over its buckets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from crawl.errors import UsageError
from crawl.graph.kernels.harmonic import BallCounter, ExactCounter, HyperLogLog
from crawl.phases.hostgraph.options import Centrality
from crawl.phases.hostgraph.tasks import centrality
from crawl.phases.hostgraph.tasks.positions import (
    PieceValues,
    PositionsJob,
    send_positions,
    send_values,
    write_positions,
)
from crawl.phases.webgraph.tasks.graph import StoredGraph
from crawl.phases.webgraph.tasks.listing import count_bins, plan_list
from crawl.phases.webgraph.tasks.vectors import VectorPiece
from crawl.storage.folder import Folder
from crawl.tables.runner import Runner

MAX_EXACT = 50_000
"""Nodes of a graph for an exact count: a bit for each pair of them, 300 MB."""
_EXACT_BELOW = 10_000
"""Graphs of fewer nodes are computed exactly where nobody says how."""
_MAX_DISTANCE = 1000
"""Farther nodes do not count."""


def counter_of(node_count: int, method: Centrality | None, precision: int) -> BallCounter:
    """How balls are kept in a graph of so many nodes."""
    if method is Centrality.EXACT and node_count > MAX_EXACT:
        raise UsageError(
            f"exact centrality is for graphs of at most {MAX_EXACT:,} nodes, and this one has"
            f" {node_count:,}: use --centrality hyperball"
        )
    is_exact = node_count < _EXACT_BELOW if method is None else method is Centrality.EXACT
    return ExactCounter(node_count) if is_exact else HyperLogLog(precision)


def harmonic(
    runner: Runner,
    graph: StoredGraph,
    counter: BallCounter,
    scratch: Folder,
    parts: Sequence[range],
) -> tuple[tuple[VectorPiece, ...], int]:
    """Where the harmonic centralities of all nodes are, and the distance at which no ball grew any
    more; `parts` are the files of each task."""

    tasks = [centrality.CentralityTask(each) for each in parts]
    job = centrality.CentralityJob(graph, counter, scratch)
    function = centrality.begin_centrality
    paths: list[str] = []
    while True:
        step = f"harmonic centrality: distance {job.distance}"
        results = runner.run(partial(function, job), tasks, step)
        for path in paths:
            scratch.delete(path)  # or all balls of all distances would lie there
        paths = [path for each in results for path in each.paths]
        tasks = [each.task for each in results]
        if not sum(each.grown for each in results) or job.distance == _MAX_DISTANCE:
            pieces = tuple(task.totals for task in tasks if task.totals is not None)
            return pieces, job.distance
        job = replace(
            job,
            distance=job.distance + 1,
            pieces=tuple(task.rows for task in tasks if task.rows is not None),
            width=results[0].width,
        )
        function = centrality.widen_balls


def positions(
    runner: Runner, scratch: Folder, pieces: tuple[VectorPiece, ...], what: str
) -> tuple[VectorPiece, ...]:
    """The place of each node by a value, as pieces like those of the values."""
    source = PieceValues(scratch, pieces)
    parts = list(range(len(pieces)))
    counted = runner.run(partial(count_bins, source), parts, f"{what}: count")
    plan = plan_list(counted, None)
    ranges = len(plan.lengths)
    offsets = np.cumsum([0, *plan.lengths], dtype=np.int64)
    bounds = np.array([piece.first for piece in pieces], dtype=np.int64)
    job = PositionsJob(source, plan, offsets, bounds)
    sent = runner.exchange(partial(send_values, job), parts, max(1, ranges), f"{what}: send")
    numbers = [(number, number) for number in range(ranges)]
    sort = partial(send_positions, job)
    positions = sent.send(sort, numbers, max(1, len(parts)), f"{what}: sort")
    addressed = [(part, part) for part in parts]
    return tuple(positions.run(partial(write_positions, job), addressed, f"{what}: positions"))
