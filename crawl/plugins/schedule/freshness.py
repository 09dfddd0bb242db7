"""Which visits buy the most freshness (after Cho and Garcia-Molina, 2003).

Visited every t days, a page is fresh for a share F(t) = 1/t ∫₀ᵗ p(s) ds of the time, where
p(s) is the chance that it has not changed s days after a visit. What one visit more a day
adds is ∫₀ᵗ p - t·p(t), its *worth*, in days. Under a budget the sum of all F is largest when
the last visit to each page is worth the same: the *price*. So a page is due when its visit
is worth the price; and where not all that is due can be had, the worthiest come first. A
page that changes faster than the price allows is worth little at any age: it would be stale
again at once.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from crawl.plugins.schedule.change_rate import ChangeRateEstimate

Floats = npt.NDArray[np.float64]

_NEAR_ONE = 1e-6
_HALVINGS = 40
_GRID = 4000


def worth(estimate: ChangeRateEstimate, age: float) -> float:
    """What a visit is worth at that age, in days of freshness."""
    log_grown = math.log1p(age / estimate.days)
    excess = estimate.shape - 1
    if abs(excess) < _NEAR_ONE:
        excess = _NEAR_ONE
    fresh = estimate.days * -math.expm1(-excess * log_grown) / excess
    return max(fresh - age * math.exp(-estimate.shape * log_grown), 0.0)


def worths(shape: Floats, days: Floats, age: Floats) -> Floats:
    """`worth` of many pages."""
    log_grown = np.log1p(age / days)
    excess = np.where(np.abs(shape - 1) < _NEAR_ONE, _NEAR_ONE, shape - 1)
    fresh = days * -np.expm1(-excess * log_grown) / excess
    added: Floats = fresh - age * np.exp(-shape * log_grown)
    return np.maximum(added, 0.0)


def days_until_worth(
    estimate: ChangeRateEstimate, price: float, shortest: float, longest: float
) -> float:
    """The age at which a visit is worth the price, within bounds."""
    if worth(estimate, longest) <= price:
        return longest
    if worth(estimate, shortest) >= price:
        return shortest
    low, high = math.log(shortest), math.log(longest)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if worth(estimate, math.exp(middle)) < price:
            low = middle
        else:
            high = middle
    return math.exp(high)


def price_of(
    prior: ChangeRateEstimate, mean_interval: float, shortest: float, longest: float
) -> float:
    """The price at which pages whose rates are spread as the prior are visited every
    `mean_interval` days on average, once their rates are known."""
    rates, weights = _spread(prior)
    return price_for(rates, weights, mean_interval, shortest, longest)


def price_for(
    rates: Floats, weights: Floats, mean_interval: float, shortest: float, longest: float
) -> float:
    """The price at which pages of these rates are visited that often on average."""
    low, high = math.log(1e-9), math.log(1e6)
    for _ in range(2 * _HALVINGS):
        middle = (low + high) / 2
        intervals = best_intervals(rates, math.exp(middle), shortest, longest)
        if float((weights / intervals).sum() / weights.sum()) > 1 / mean_interval:
            low = middle
        else:
            high = middle
    return math.exp(high)


def best_intervals(rates: Floats, price: float, shortest: float, longest: float) -> Floats:
    """The intervals, in days, of pages whose rates are known and not 0."""
    worth_in_changes = price * rates
    changes = np.where(
        worth_in_changes < _LOST[0],
        np.sqrt(2 * worth_in_changes),  # to which the table tends
        np.interp(worth_in_changes, _LOST, _CHANGES, right=np.inf),
    )
    return np.clip(changes / rates, shortest, longest)


def _spread(prior: ChangeRateEstimate) -> tuple[Floats, Floats]:
    """Rates, evenly by their logarithm, and how much of the distribution lies at each."""
    log_rate = np.linspace(-30, 12, _GRID) + math.log(prior.rate)
    rate = np.exp(log_rate)
    log_density = prior.shape * log_rate - prior.days * rate
    return rate, np.exp(log_density - log_density.max())


_CHANGES = np.logspace(-4, 1.5, _GRID)
"""Changes that are expected between two visits."""
_LOST = -np.expm1(-_CHANGES) - _CHANGES * np.exp(-_CHANGES)
"""What a visit is then worth, in units of the mean time between two changes."""
