"""How many pages politeness lets anybody fetch from hosts whose sizes follow a power law.

The simulator (crawl/fetcher/drivers/simulate.py) runs the fetcher itself over such hosts; this is
the bound that it cannot be faster than, in closed form, for more hosts than fit anywhere.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from functools import lru_cache

_EXACT_TERMS = 64
"""Terms of a sum of powers that are added up; beyond them Euler and Maclaurin's formula
is right to ten digits."""


@dataclass(frozen=True, slots=True)
class HostPace:
    """One request at a time to a host, and a pause after each."""

    delay_s: float
    latency_s: float

    def chain_s(self, pages: float) -> float:
        """How long so many pages of one host take, its robots.txt before them."""
        return (pages + 1) * self.latency_s + pages * self.delay_s if pages > 0 else 0.0

    def pages_within(self, seconds: float) -> float:
        """How many whole pages of one host there is time for."""
        each = self.delay_s + self.latency_s
        pages = (seconds - self.latency_s) / each + 1e-9 if each > 0 else math.inf
        return max(0.0, float(math.floor(pages))) if math.isfinite(pages) else pages


@dataclass(frozen=True, slots=True)
class HostSizes:
    """The n-th host has a share of 1/n**skew of the URLs; 0: all alike."""

    hosts: float
    urls: float
    skew: float

    @property
    def largest(self) -> float:
        return self.urls / powers(self.hosts, self.skew)

    def larger_than(self, urls: float) -> float:
        """How many hosts have that many URLs or more."""
        if self.skew == 0:
            return self.hosts if self.largest >= urls else 0.0
        if urls <= 0:
            return self.hosts
        # by logarithms: a small skew makes a power that no float holds
        rank = (math.log(self.largest) - math.log(urls)) / self.skew
        if rank < 0:
            return 0.0
        return float(min(self.hosts, math.floor(math.exp(min(rank, 700.0)) + 1e-9)))

    def capped(self, most: float) -> float:
        """The URLs that are left when no host gives more than `most`."""
        if most <= 0:
            return 0.0
        if most >= self.largest:
            return self.urls
        giants = self.larger_than(most)
        rest = 1 - powers(giants, self.skew) / powers(self.hosts, self.skew)
        return min(self.urls, most * giants + self.urls * max(0.0, rest))

    def cap_for(self, pages: float) -> float:
        """The least number of pages a host, of which so many pages can be had; infinite
        where there are not so many."""
        if pages <= 0:
            return 0.0

        def urls(cap: float) -> float:
            # a sum of floats may end a hair below what it was made of
            return self.capped(cap) * (1 + 1e-9)

        largest = math.ceil(self.largest)
        if urls(largest) < pages:
            return math.inf
        return 1.0 + bisect_left(range(1, largest), pages, key=urls)


@lru_cache(4096)
def powers(terms: float, exponent: float) -> float:
    """1 + 2**-exponent + 3**-exponent + … for so many terms."""

    def term(n: int, power: float) -> float:
        return math.exp(power * math.log(n))

    count = math.floor(terms)
    first = min(count, _EXACT_TERMS)
    total = math.fsum(term(n, -exponent) for n in range(1, first + 1))
    if count <= first:
        return total
    rest = 1 - exponent
    # as the logarithm's own series where the exponent is all but 1
    area = math.log(count / first)
    if abs(rest) * math.log(count) > 1e-9:
        area = (term(count, rest) - term(first, rest)) / rest
    ends = (term(count, -exponent) - term(first, -exponent)) / 2
    slope = exponent * (term(first, -exponent - 1) - term(count, -exponent - 1))
    return total + area + ends + slope / 12
