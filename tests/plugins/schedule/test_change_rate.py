from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.plugins.schedule.change_rate import ChangeRateEstimate

PRIOR = ChangeRateEstimate(0.25, 7.5)
beliefs = st.builds(ChangeRateEstimate, st.floats(1e-3, 1e3), st.floats(1e-3, 1e4))
ages = st.floats(1e-4, 1e4)


def test_no_change_is_time_watched() -> None:
    assert PRIOR.unchanged(30.0) == ChangeRateEstimate(0.25, 37.5)
    assert PRIOR.rate == pytest.approx(1 / 30)


@pytest.mark.parametrize(("shape", "days", "after"), [(0.25, 7.5, 30.0), (3.0, 10.0, 2.0)])
def test_a_change_keeps_mean_and_variance_of_the_exact_belief(
    shape: float, days: float, after: float
) -> None:
    log_rate = np.linspace(-40, 5, 400_001)
    rate = np.exp(log_rate)
    weight = np.exp(shape * log_rate - days * rate) * -np.expm1(-rate * after)
    mean = (weight * rate).sum() / weight.sum()
    variance = (weight * rate * rate).sum() / weight.sum() - mean * mean
    seen = ChangeRateEstimate(shape, days).changed(after)
    assert seen.rate == pytest.approx(mean, rel=1e-4)
    assert seen.shape / seen.days**2 == pytest.approx(variance, rel=1e-4)


@given(beliefs, ages)
def test_a_change_raises_the_rate_and_none_lowers_it(
    estimate: ChangeRateEstimate, after: float
) -> None:
    changed, unchanged = estimate.changed(after), estimate.unchanged(after)
    assert changed.rate >= estimate.rate * (1 - 1e-9)
    assert unchanged.rate < estimate.rate
    for each in (changed, unchanged):
        assert math.isfinite(each.rate)
        assert each.shape > 0
        assert each.days > 0


@pytest.mark.parametrize("rate", [0.02, 0.1, 0.5])
def test_irregular_visits_find_the_rate(rate: float) -> None:
    chance = np.random.default_rng(3)
    estimate = PRIOR
    for _ in range(800):
        after = float(chance.uniform(0.2, 2.0)) / rate
        changed = chance.random() < -math.expm1(-rate * after)
        estimate = estimate.changed(after) if changed else estimate.unchanged(after)
    assert estimate.rate == pytest.approx(rate, rel=0.15)


def test_what_is_long_ago_fades_towards_the_prior() -> None:
    watched = ChangeRateEstimate(10.0, 100.0)
    assert watched.faded(PRIOR, 1.0) == watched
    assert watched.faded(PRIOR, 0.0) == PRIOR
    half = watched.faded(PRIOR, 0.5)
    assert (half.shape, half.days) == (5.125, 53.75)


def test_a_page_is_fresh_at_first_and_less_and_less() -> None:
    assert PRIOR.fresh_probability(0.0) == 1.0
    assert PRIOR.fresh_probability(7.5) == pytest.approx(2**-0.25)
