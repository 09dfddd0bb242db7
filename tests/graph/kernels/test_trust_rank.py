from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from tests.examples import scaled
from tests.graph.graphs import Drawn, drawn_graphs
from tests.graph.reference.array_edges import ArrayEdges
from tests.graph.reference.page_rank import RankOptions, page_rank, teleport_to
from tests.graph.reference.trust_rank import distrust, trust_rank

EXACTLY = RankOptions(tolerance=1e-12, max_iterations=500)


def farm() -> ArrayEdges:
    """Nodes 0 to 9 link round in a ring; 10 is a spam page with boosters 11 to 29, and 9, which is
    honest, links to it too."""
    ring = [(node, (node + 1) % 10) for node in range(10)]
    boosters = [(node, 10) for node in range(11, 30)] + [(10, node) for node in range(11, 30)]
    links = [*ring, *boosters, (9, 10)]
    return ArrayEdges.of([one for one, _ in links], [other for _, other in links], 30, buckets=4)


def test_denied_pages_and_those_that_lead_to_them_have_little_say() -> None:
    edges = farm()
    plain = page_rank(edges, EXACTLY).ranks
    assert plain[10] == plain.max()
    result = trust_rank(edges, [11, 12], EXACTLY)
    # two of twenty boosters were named; they all link to a page that links to those
    assert result.distrust[11] == 1.0
    assert 0 < result.distrust[9] < result.distrust[10] < 1
    assert result.distrust[0] < 0.05
    ranks = result.rank.ranks
    assert ranks.sum() == pytest.approx(1.0)
    assert ranks[10] / ranks[0] < plain[10] / plain[0] / 1.5


def test_rank_from_seeds_leaves_a_farm_what_honest_pages_give_it() -> None:
    result = trust_rank(farm(), [11], EXACTLY, seeds=[0])
    farmed = result.rank.ranks[10:].sum()
    assert farmed < 0.2 < page_rank(farm(), EXACTLY).ranks[10:].sum()


@given(drawn_graphs(least=1))
@settings(max_examples=scaled(100))
def test_distrust_is_a_chance_and_without_denied_pages_trust_is_page_rank(graph: Drawn) -> None:
    edges = ArrayEdges.of(
        graph.sources, graph.destinations, graph.node_count, buckets=graph.buckets
    )
    known = distrust(edges, [0], EXACTLY)
    assert known[0] == 1.0
    assert (known >= 0).all()
    assert (known <= 1).all()
    plain = page_rank(edges, EXACTLY, teleport=teleport_to([0], graph.node_count))
    same = trust_rank(edges, [], EXACTLY, seeds=[0])
    np.testing.assert_allclose(same.rank.ranks, plain.ranks, atol=1e-9)
    assert not same.distrust.any()


def test_seeds_that_are_all_denied_are_none() -> None:
    with pytest.raises(ValueError, match="no node at which"):
        trust_rank(farm(), [0], seeds=[0])


def test_the_empty_graph() -> None:
    assert len(trust_rank(ArrayEdges.of([], [], 0), []).distrust) == 0
