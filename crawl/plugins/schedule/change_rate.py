"""How often a page changes, estimated from its visits; the estimate fits in a record.

Changes are taken for a Poisson process whose rate is Gamma distributed. A visit that finds
no change after a time t multiplies the estimate by exp(-rate·t), which leaves it a Gamma
distribution; one that finds a change, by 1-exp(-rate·t), and the Gamma distribution with the
same mean and variance takes its place. So irregular intervals count for what they are, two
numbers are all the history that is needed, and a page of which little is known is believed
to be like the others. Times are in days.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ChangeRateEstimate:
    """Gamma distribution of a page's rate of changes a day."""

    shape: float
    days: float
    """The distribution's rate parameter: about how long the page was watched."""

    @property
    def rate(self) -> float:
        """The mean: changes a day."""
        return self.shape / self.days

    def unchanged(self, after: float) -> ChangeRateEstimate:
        """The estimate after a visit that found no change after so many days."""
        return ChangeRateEstimate(self.shape, self.days + after)

    def changed(self, after: float) -> ChangeRateEstimate:
        """The estimate after a visit that found a change after so many days."""
        shape, days = self.shape, self.days
        log_share = -math.log1p(after / days)
        chance = -math.expm1(shape * log_share)
        if chance < 1e-9:  # so soon that at most one change can have happened
            return ChangeRateEstimate(shape + 1, days)
        mean = shape / days * -math.expm1((shape + 1) * log_share) / chance
        square = shape * (shape + 1) / days**2 * -math.expm1((shape + 2) * log_share) / chance
        variance = square - mean * mean
        if variance <= 0:
            return self
        return ChangeRateEstimate(mean * mean / variance, mean / variance)

    def faded(self, prior: ChangeRateEstimate, share: float) -> ChangeRateEstimate:
        """The estimate with that share of the evidence beyond the prior: old visits count less."""
        return ChangeRateEstimate(
            prior.shape + share * (self.shape - prior.shape),
            prior.days + share * (self.days - prior.days),
        )

    def fresh_probability(self, age: float) -> float:
        """The probability that the page has not changed for so many days."""
        return math.exp(-self.shape * math.log1p(age / self.days))
