from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import scaled
from tests.graph.graphs import Drawn, drawn_graphs
from tests.graph.reference.aggregate import aggregate, sums_by_group
from tests.graph.reference.array_edges import ArrayEdges


@given(drawn_graphs(), st.booleans(), st.data())
@settings(max_examples=scaled(100))
def test_links_between_groups_are_those_of_their_pages(
    graph: Drawn, internal: bool, data: st.DataObject
) -> None:
    groups = data.draw(
        st.lists(st.integers(0, 3), min_size=graph.node_count, max_size=graph.node_count)
    )
    group_of = np.array(groups, np.int64)
    edges = ArrayEdges.of(
        graph.sources,
        graph.destinations,
        graph.node_count,
        buckets=graph.buckets,
        multi_edges=True,
    )
    found, links = aggregate(edges, group_of, 4, internal=internal)
    expected = Counter((groups[one], groups[other]) for one, other in graph.edges)
    if not internal:
        expected = Counter({pair: n for pair, n in expected.items() if pair[0] != pair[1]})
    pairs = zip(links.sources.tolist(), links.destinations.tolist(), strict=True)
    assert dict(zip(pairs, links.pages.tolist(), strict=True)) == expected
    assert found.node_count == 4
    assert found.edge_count == len(expected)


def test_values_are_summed_by_group() -> None:
    assert sums_by_group([0.5, 0.25, 0.25], np.array([2, 0, 2]), 3).tolist() == [0.25, 0.0, 0.75]
