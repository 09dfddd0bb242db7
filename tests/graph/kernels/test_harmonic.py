from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings

from crawl.graph.kernels import harmonic
from crawl.graph.kernels.harmonic import HyperLogLog
from tests.examples import scaled
from tests.graph.graphs import Drawn, drawn_graphs, power_law
from tests.graph.reference.array_edges import ArrayEdges
from tests.graph.reference.harmonic import CentralityOptions, error_of, harmonic_centrality


@given(drawn_graphs())
@settings(max_examples=scaled(200))
def test_exact_centralities_are_those_of_networkx(graph: Drawn) -> None:
    edges = ArrayEdges.of(
        graph.sources, graph.destinations, graph.node_count, buckets=graph.buckets
    )
    theirs = nx.DiGraph()
    theirs.add_nodes_from(range(graph.node_count))
    theirs.add_edges_from(graph.edges)
    expected = nx.harmonic_centrality(theirs)
    result = harmonic_centrality(edges)
    assert result.is_exact
    for node in range(graph.node_count):
        assert result.centralities[node] == pytest.approx(expected[node], abs=1e-9)
        assert result.reachable[node] == len(nx.ancestors(theirs, node)) + 1


@pytest.mark.parametrize("precision", [6, 9])
def test_hyperball_is_near_the_truth(precision: int) -> None:
    count = 3_000
    edges = ArrayEdges.of(*power_law(count, 15_000, seed=3), count, buckets=5)
    exact = harmonic_centrality(edges)
    estimated = harmonic_centrality(
        edges, CentralityOptions(precision=precision, exact_below=0, seed=7)
    )
    assert exact.is_exact
    assert not estimated.is_exact
    linked = exact.centralities >= 1
    errors = estimated.centralities[linked] / exact.centralities[linked] - 1
    bound = error_of(precision)
    # errors of nodes that reach the same set are the same, so their mean may be off by as much
    assert abs(float(np.mean(errors))) < 2 * bound
    assert float(np.sqrt(np.mean(errors**2))) < 2 * bound
    order = np.corrcoef(
        np.argsort(np.argsort(exact.centralities)), np.argsort(np.argsort(estimated.centralities))
    )
    assert order[0, 1] > 0.95


def test_buckets_and_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    links = power_law(500, 3_000, seed=4)
    options = CentralityOptions(exact_below=0)
    whole = harmonic_centrality(ArrayEdges.of(*links, 500), options)
    monkeypatch.setattr(harmonic, "_CHUNK_BYTES", 64 * 7)
    cut = harmonic_centrality(ArrayEdges.of(*links, 500, buckets=9), options)
    np.testing.assert_array_equal(whole.centralities, cut.centralities)


@pytest.mark.parametrize("count", [1, 10, 100, 3_000, 100_000])
def test_a_counter_estimates_what_it_was_given(count: int) -> None:
    estimates = []
    for seed in range(10):
        counter = HyperLogLog(8, seed)
        ball = counter.start(0, count).max(axis=0, keepdims=True)
        estimates.append(float(counter.sizes(ball)[0]))
    assert np.mean(estimates) == pytest.approx(count, rel=2 * error_of(8))


def test_farther_nodes_do_not_count() -> None:
    chain = ArrayEdges.of([0, 1, 2], [1, 2, 3], 4)
    assert harmonic_centrality(chain).centralities[3] == pytest.approx(1 + 1 / 2 + 1 / 3)
    near = harmonic_centrality(chain, CentralityOptions(max_distance=2))
    assert near.centralities[3] == pytest.approx(1.5)
    assert near.distance == 2


def test_a_counter_has_a_size_that_fits() -> None:
    with pytest.raises(ValueError, match="4 to 16"):
        HyperLogLog(2)
