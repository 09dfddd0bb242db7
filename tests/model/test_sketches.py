from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawl.model.sketches import ACCURACY, LAST_BIN, ZERO, Sketches, bins_of
from tests.examples import scaled

VALUES = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 2**31) | st.integers(0, 50)), max_size=60
)
SHARES = [0.0, 0.1, 0.5, 0.75, 0.95, 0.99, 1.0]


def sketches_of(values: list[tuple[int, int]], owners: int = 4) -> Sketches:
    owner = np.array([owner for owner, _ in values], dtype=np.int64)
    numbers = np.array([value for _, value in values], dtype=np.int64)
    ones = np.ones(len(values), dtype=np.int64)
    return Sketches.of(owners, owner, bins_of(numbers).astype(np.int64), ones)


@settings(max_examples=scaled(200))
@given(VALUES)
def test_quantiles_are_within_the_accuracy_of_the_truth(values: list[tuple[int, int]]) -> None:
    found = sketches_of(values).quantiles(SHARES)
    for owner in range(4):
        mine = [value for each, value in values if each == owner]
        for share, quantiles in zip(SHARES, found, strict=True):
            if not mine:
                assert np.isnan(quantiles[owner])
                continue
            truth = float(np.quantile(mine, share, method="inverted_cdf"))
            assert quantiles[owner] == pytest.approx(truth, rel=ACCURACY + 1e-9)


@settings(max_examples=scaled(100))
@given(VALUES, VALUES)
def test_sketches_merge_to_the_sketch_of_all(
    first: list[tuple[int, int]], second: list[tuple[int, int]]
) -> None:
    one, other = sketches_of(first), Sketches.of_lists(*sketches_of(second).lists())
    merged = Sketches.of(
        4,
        np.concatenate([one.owner, other.owner]),
        np.concatenate([one.bins, other.bins]),
        np.concatenate([one.counts, other.counts]),
    )
    whole = sketches_of(first + second)
    assert merged.bins.tolist() == whole.bins.tolist()
    assert merged.counts.tolist() == whole.counts.tolist()
    assert merged.totals().tolist() == whole.totals().tolist()


def test_a_sketch_has_a_bounded_number_of_bins() -> None:
    values = np.array([0, 1, 2**62, 2**63 - 1], dtype=np.int64)
    bins = bins_of(values)
    assert bins[0] == ZERO
    assert bins.max() <= LAST_BIN < 1100
