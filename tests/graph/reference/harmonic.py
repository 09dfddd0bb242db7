"""Harmonic centrality of a whole graph."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from crawl.graph.kernels.harmonic import (
    BallCounter,
    ExactCounter,
    Floats,
    HyperLogLog,
    ball_step,
)
from tests.graph.reference.array_edges import EdgeBuckets


@dataclass(frozen=True, slots=True)
class CentralityOptions:
    """How exactly, and how far."""

    precision: int = 6
    exact_below: int = 10_000
    """Graphs of fewer nodes are computed exactly, with a bit for each pair of nodes."""
    max_distance: int = 1000
    """Farther nodes do not count."""
    seed: int = 0
    """Of the hashes."""


@dataclass(frozen=True, slots=True, eq=False)
class CentralityResult:
    """The centrality of each node, and how many nodes reach it at all, itself included."""

    centralities: Floats
    reachable: Floats
    distance: int
    """At which no ball grew any more, or the largest allowed."""
    is_exact: bool


def error_of(precision: int) -> float:
    """The relative standard deviation of a ball's size."""
    return 1.04 / math.sqrt(1 << precision)


def harmonic_centrality(
    edges: EdgeBuckets, options: CentralityOptions | None = None
) -> CentralityResult:
    """The centrality of all nodes, computed in this process: a counter a node is in memory."""
    options = options or CentralityOptions()
    count = edges.node_count
    is_exact = count < options.exact_below
    counter: BallCounter = (
        ExactCounter(count) if is_exact else HyperLogLog(options.precision, options.seed)
    )
    balls = counter.start(0, count)
    sizes = counter.sizes(balls)
    totals = np.zeros(count)
    has_grown = np.ones(count, dtype=np.bool_)
    distance = 0
    while distance < options.max_distance and has_grown.any():
        distance += 1
        steps = [
            ball_step(edges.block(bucket), balls, has_grown, counter)
            for bucket in range(len(edges.bounds) - 1)
        ]
        has_grown = np.zeros(count, dtype=np.bool_)
        for nodes, grown in steps:
            changed = (grown != balls[nodes]).any(axis=1)
            moved, news = nodes[changed], grown[changed]
            reached = counter.sizes(news)
            # an estimate may fall by rounding where it should stand still
            totals[moved] += np.maximum(reached - sizes[moved], 0.0) / distance
            balls[moved], sizes[moved] = news, reached
            has_grown[moved] = True
    return CentralityResult(totals, sizes, distance, is_exact)
