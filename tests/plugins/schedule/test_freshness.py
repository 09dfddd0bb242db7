from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.plugins.schedule.change_rate import ChangeRateEstimate
from crawl.plugins.schedule.freshness import (
    best_intervals,
    days_until_worth,
    price_for,
    price_of,
    worth,
    worths,
)

beliefs = st.builds(ChangeRateEstimate, st.floats(1e-2, 1e3), st.floats(1e-2, 1e3))


def certain(rate: float) -> ChangeRateEstimate:
    return ChangeRateEstimate(1e6, 1e6 / rate)


@given(
    st.builds(ChangeRateEstimate, st.floats(1e-2, 50), st.floats(1e-2, 1e3)), st.floats(0.01, 500.0)
)
def test_worth_is_what_one_more_visit_a_day_adds(estimate: ChangeRateEstimate, age: float) -> None:
    step = np.linspace(0, math.log1p(age / estimate.days), 20_001)  # evenly by the logarithm
    fresh = np.exp(-estimate.shape * step)
    integral = float(np.trapezoid(fresh * estimate.days * np.exp(step), step))
    assert worth(estimate, age) == pytest.approx(integral - age * fresh[-1], rel=1e-3, abs=1e-4)


@given(st.lists(st.tuples(beliefs, st.floats(0.0, 1e4)), max_size=8))
def test_the_column_agrees(pages: list[tuple[ChangeRateEstimate, float]]) -> None:
    shape = np.array([estimate.shape for estimate, _ in pages])
    days = np.array([estimate.days for estimate, _ in pages])
    age = np.array([age for _, age in pages])
    expected = [worth(estimate, age) for estimate, age in pages]
    assert worths(shape, days, age).tolist() == pytest.approx(expected)


@given(beliefs, st.floats(0.01, 100.0))
def test_a_page_is_due_when_its_visit_is_worth_the_price(
    estimate: ChangeRateEstimate, price: float
) -> None:
    days = days_until_worth(estimate, price, 0.04, 365.0)
    if days == 365.0:
        assert worth(estimate, days) <= price * 1.001
    elif days == 0.04:
        assert worth(estimate, days) >= price
    else:
        assert worth(estimate, days) == pytest.approx(price, rel=1e-3)


def test_visits_grow_with_the_rate_and_fall_where_the_budget_cannot_follow() -> None:
    intervals = [days_until_worth(certain(rate), 3.0, 0.04, 365.0) for rate in (0.001, 0.1, 10.0)]
    assert intervals[0] > intervals[1]
    assert intervals[2] == 365.0
    known = best_intervals(np.array([0.001, 0.1, 10.0]), 3.0, 0.04, 365.0)
    assert known.tolist() == pytest.approx(intervals, rel=1e-3)


def test_the_price_meets_the_budget() -> None:
    rates = np.exp(np.random.default_rng(1).normal(0, 2, 500)) / 30
    price = price_for(rates, np.ones(500), 30.0, 0.04, 365.0)
    assert (1 / best_intervals(rates, price, 0.04, 365.0)).mean() == pytest.approx(1 / 30, rel=1e-3)


def test_no_other_intervals_of_the_same_budget_are_fresher() -> None:
    chance = np.random.default_rng(2)
    rates = np.exp(chance.normal(0, 1.5, 300)) / 20
    price = price_for(rates, np.ones(300), 30.0, 0.04, 1e5)
    best = best_intervals(rates, price, 0.04, 1e5)

    def freshness(intervals: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
        changes = rates * intervals * (1 / intervals).mean() * 30.0  # scaled to the budget
        return float((-np.expm1(-changes) / changes).mean())

    most = freshness(best)
    assert most > freshness(np.full(300, 30.0))
    assert most > freshness(1 / rates)
    for _ in range(50):
        assert most >= freshness(best * np.exp(chance.normal(0, 0.2, 300)))


def test_a_larger_budget_has_a_lower_price() -> None:
    prior = ChangeRateEstimate(0.25, 7.5)
    prices = [price_of(prior, days, 0.04, 365.0) for days in (5.0, 30.0, 100.0)]
    assert prices == sorted(prices)
    assert all(math.isfinite(price) and price > 0 for price in prices)
