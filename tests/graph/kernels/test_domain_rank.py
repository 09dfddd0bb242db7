from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import scaled
from tests.graph.graphs import Drawn, drawn_graphs
from tests.graph.reference.array_edges import ArrayEdges
from tests.graph.reference.domain_rank import domain_rank, mean_ranks
from tests.graph.reference.page_rank import RankOptions, page_rank

EXACTLY = RankOptions(damping=0.7, tolerance=1e-12, max_iterations=500)


def test_the_mean_of_a_domain_counts_pages_that_nobody_links_to() -> None:
    means = mean_ranks(np.array([0.3, 0.1, 0.2, 0.4]), np.array([0, 0, 0, 2]), 4)
    np.testing.assert_allclose(means, [0.2, 0.0, 0.4, 0.0])


@given(drawn_graphs(), st.data())
@settings(max_examples=scaled(100))
def test_it_is_a_personalised_page_rank(graph: Drawn, data: st.DataObject) -> None:
    count = graph.node_count
    edges = ArrayEdges.of(graph.sources, graph.destinations, count, buckets=graph.buckets)
    domain = st.lists(st.integers(0, 3), min_size=count, max_size=count)
    domain_of = np.array(data.draw(domain), np.int64)
    found = domain_rank(edges, domain_of, 4, EXACTLY).ranks
    if not count:
        assert len(found) == 0
        return
    links = nx.DiGraph(graph.edges)
    links.add_nodes_from(range(count))
    plain = nx.pagerank(links, alpha=0.7, tol=1e-14, max_iter=1000)
    of_domain: dict[int, list[float]] = {}
    for node, name in enumerate(domain_of.tolist()):
        of_domain.setdefault(name, []).append(plain[node])
    wanted = {
        node: sum(of_domain[name]) / len(of_domain[name])
        for node, name in enumerate(domain_of.tolist())
    }
    expected = nx.pagerank(links, alpha=0.7, personalization=wanted, tol=1e-14, max_iter=1000)
    np.testing.assert_allclose(found, [expected[node] for node in range(count)], atol=1e-8)
    assert found.sum() == pytest.approx(1.0)


def test_pages_of_a_domain_that_others_link_to_come_before_those_that_it_made_up() -> None:
    """As in a crawl: page 20 is a farm's, which one honest page was tricked into linking to, and it
    has led to twenty more; page 4 has led to as many of an honest domain, whose pages others
    know. None of these forty was fetched yet."""
    honest = [(of, to) for of in range(4) for to in range(8) if of != to]
    farm = [(3, 20), *((20, to) for to in range(21, 41))]
    below = [(4, to) for to in [*range(5, 8), *range(41, 58)]]
    links = [*honest, *farm, *below]
    edges = ArrayEdges.of([of for of, _ in links], [to for _, to in links], 58)
    domain_of = np.array([0] * 4 + [1] * 4 + [2] * 12 + [3] * 21 + [1] * 17)
    plain = page_rank(edges, EXACTLY).ranks
    found = domain_rank(edges, domain_of, 4, EXACTLY).ranks
    assert found[50] / found[30] > 1.05 * plain[50] / plain[30]
    assert found[21:41].sum() < plain[21:41].sum()


def test_a_surfer_begins_where_both_say() -> None:
    edges = ArrayEdges.of([0, 1], [1, 0], 4)
    ranks = domain_rank(
        edges, np.array([0, 0, 1, 1]), 2, EXACTLY, teleport=np.array([1.0, 0.0, 1.0, 0.0])
    ).ranks
    assert ranks[3] == 0.0
    assert ranks[0] > ranks[2] > 0.0
