from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tests.examples import scaled
from tests.graph.graphs import Drawn, drawn_graphs, power_law
from tests.graph.reference.array_edges import ArrayEdges
from tests.graph.reference.page_rank import (
    RankOptions,
    out_degrees,
    page_rank,
    teleport_to,
)

EXACTLY = RankOptions(tolerance=1e-12, max_iterations=500)


def networkx_ranks(
    graph: Drawn, *, multi_edges: bool, seeds: list[int] | None = None
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    theirs = nx.DiGraph()
    theirs.add_nodes_from(range(graph.node_count))
    for edge in graph.edges:
        weight = theirs.edges[edge]["weight"] + 1 if theirs.has_edge(*edge) else 1
        theirs.add_edge(*edge, weight=weight if multi_edges else 1)
    wanted = None if seeds is None else {seed: seeds.count(seed) for seed in seeds}
    ranks = nx.pagerank(theirs, tol=1e-13, max_iter=1000, personalization=wanted)
    return np.array([ranks[node] for node in range(graph.node_count)])


@given(drawn_graphs(least=1), st.booleans(), st.data())
@settings(max_examples=scaled(300))
def test_ranks_are_those_of_networkx(graph: Drawn, multi_edges: bool, data: st.DataObject) -> None:
    edges = ArrayEdges.of(
        graph.sources,
        graph.destinations,
        graph.node_count,
        buckets=graph.buckets,
        multi_edges=multi_edges,
    )
    node = st.integers(0, graph.node_count - 1)
    seeds = data.draw(st.none() | st.lists(node, min_size=1, max_size=4))
    teleport = None if seeds is None else teleport_to(seeds, graph.node_count)
    result = page_rank(edges, EXACTLY, teleport=teleport)
    assert result.has_converged(EXACTLY)
    assert result.ranks.sum() == pytest.approx(1.0)
    theirs = networkx_ranks(graph, multi_edges=multi_edges, seeds=seeds)
    np.testing.assert_allclose(result.ranks, theirs, atol=1e-6)


def test_a_large_graph_has_the_ranks_of_scipy() -> None:
    count = 50_000
    sources, destinations = power_law(count, 500_000, seed=1)
    edges = ArrayEdges.of(sources, destinations, count, buckets=7, multi_edges=True)
    matrix = sparse.csr_matrix(
        (np.ones(len(sources)), (destinations, sources)), shape=(count, count)
    )
    degrees = np.asarray(matrix.sum(axis=0)).ravel()
    shares = np.divide(1.0, degrees, out=np.zeros(count), where=degrees > 0)
    ranks = np.full(count, 1 / count)
    for _ in range(200):
        given_along = matrix @ (ranks * shares) + ranks[degrees == 0].sum() / count
        ranks = 0.85 * given_along + 0.15 / count
    found = page_rank(edges, EXACTLY)
    assert np.abs(found.ranks - ranks).sum() < 1e-9
    np.testing.assert_array_equal(out_degrees(edges), degrees)


def test_the_empty_graph_and_one_node() -> None:
    none = page_rank(ArrayEdges.of([], [], 0))
    assert len(none.ranks) == 0
    assert none.has_converged(RankOptions())
    assert page_rank(ArrayEdges.of([], [], 1)).ranks.tolist() == [1.0]
    assert page_rank(ArrayEdges.of([0], [0], 1, buckets=3)).ranks.tolist() == [1.0]


def test_a_guess_saves_iterations_and_changes_nothing() -> None:
    edges = ArrayEdges.of(*power_law(2_000, 20_000, seed=2), 2_000)
    cold = page_rank(edges, EXACTLY)
    warm = page_rank(edges, EXACTLY, start=cold.ranks + 1e-9)
    assert warm.iterations <= cold.iterations * 2 / 3
    np.testing.assert_allclose(warm.ranks, cold.ranks, atol=1e-11)


def test_an_iteration_that_is_cut_short_says_so() -> None:
    edges = ArrayEdges.of(*power_law(2_000, 20_000, seed=2), 2_000)
    options = RankOptions(max_iterations=2)
    result = page_rank(edges, options)
    assert result.iterations == 2
    assert not result.has_converged(options)


def test_a_surfer_needs_a_place_to_begin() -> None:
    edges = ArrayEdges.of([0], [1], 2)
    with pytest.raises(ValueError, match="no node at which"):
        page_rank(edges, teleport=np.zeros(2))


@pytest.mark.parametrize(("sources", "destinations"), [([0, 1], [1]), ([0], [2]), ([-1], [0])])
def test_edges_that_are_none(sources: list[int], destinations: list[int]) -> None:
    with pytest.raises(ValueError, match=r"destinations|beyond"):
        ArrayEdges.of(sources, destinations, 2)
