from __future__ import annotations

import math

import numpy as np
import pytest

from crawl.config import Config
from crawl.interfaces.schedule import FetchSchedule
from crawl.plugins.schedule.adaptive import AdaptiveFetchSchedule
from crawl.plugins.schedule.default import DefaultFetchSchedule
from crawl.plugins.schedule.poisson import PoissonFetchSchedule
from tests.plugins.schedule.changing_web import DAY_MS, ChangingWeb, FreshnessResult, simulate

YEAR_S = 365 * 86_400


def configured(days: float) -> Config:
    return Config.of({"db.fetch.interval.default": f"{days}d", "db.fetch.interval.max": YEAR_S})


def run(schedule: type, web: ChangingWeb, days: float) -> FreshnessResult:
    built: FetchSchedule = schedule(configured(days))
    return simulate(built, web, round(web.size / days), YEAR_S)


def test_changes_come_at_their_rates_and_the_same_for_everybody() -> None:
    rates = np.array([0.0, 0.1, 2.0])
    web = ChangingWeb.of_rates(rates, 1000, np.random.default_rng(1))
    counts = [len(changes) for changes in web.changes]
    assert counts[0] == 0
    assert 70 < counts[1] < 130
    assert 1850 < counts[2] < 2150
    again = ChangingWeb.of_rates(rates, 1000, np.random.default_rng(1))
    assert [each.tolist() for each in web.changes] == [each.tolist() for each in again.changes]


def test_freshness_by_hand() -> None:
    half_day = DAY_MS // 2
    change = np.array([2 * DAY_MS + half_day])
    web = ChangingWeb(np.array([0.1, 0.1]), [change, change], 6)
    outcome = simulate(DefaultFetchSchedule(configured(2)), web, 1, YEAR_S)
    # two pages take turns, on days 0, 2, 4 and 1, 3, 5, and both change on day 2 at noon
    first, second = 6 - 1.5, 5 - 0.5
    assert outcome.freshness == pytest.approx((first + second) / 12)
    assert outcome.visits.tolist() == [3, 3]
    assert outcome.fetches == 6
    assert outcome.by_day.sum() == pytest.approx(6 * outcome.freshness)


def test_a_fixed_interval_is_as_fresh_as_the_formula_says() -> None:
    web = ChangingWeb.of_rates(np.full(300, 0.1), 400, np.random.default_rng(4))
    outcome = run(DefaultFetchSchedule, web, 10)
    assert outcome.since(20) == pytest.approx(-math.expm1(-1.0), abs=0.01)


def test_poisson_beats_adaptive_beats_default_at_equal_fetches() -> None:
    web = ChangingWeb.log_normal(150, median_days=10, sigma=1.2, static=0.6, days=730, seed=5)
    default, adaptive, poisson = (
        run(each, web, 30)
        for each in (DefaultFetchSchedule, AdaptiveFetchSchedule, PoissonFetchSchedule)
    )
    assert default.fetches == adaptive.fetches == poisson.fetches == 5 * 730
    assert poisson.freshness > adaptive.freshness > default.freshness


def test_where_all_pages_change_poisson_is_still_no_worse_than_default() -> None:
    web = ChangingWeb.log_normal(150, median_days=30, sigma=2.0, static=0.0, days=730, seed=5)
    default, adaptive, poisson = (
        run(each, web, 15)
        for each in (DefaultFetchSchedule, AdaptiveFetchSchedule, PoissonFetchSchedule)
    )
    assert poisson.freshness > default.freshness
    # visits in proportion to the rate are never better than the same for all (Cho and
    # Garcia-Molina), and that is what adaptive tends to
    assert default.freshness > adaptive.freshness
