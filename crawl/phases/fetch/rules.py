"""When a fetch has become a tail: few servers are busy, all others wait for its end.

The marginal value theorem: whoever must travel between places leaves one as soon as it yields less
than all places in the mean, the way included. The place is a fetch, what it yields are servers at
work, and the way is what a round costs beside its fetch. What would be left is fetched by the next
round, together with what was found for the servers that are idle now.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RoundCosts:
    """What the next round would cost, and what waits for it, as far as the last one tells."""

    overhead_s: float
    """The time that no server is asked: parse, updatedb, generate."""
    found_per_page: float
    """New URLs that updatedb finds in a page."""
    due_unlisted: int = 0
    """Due URLs that were left out of the list, by its length or by a host's share of it."""


@dataclass(frozen=True, slots=True)
class FetchSoFar:
    """A fetch at a moment, over all its parts."""

    spent_s: float
    served_s: float
    """The seconds that each server was busy, added up."""
    busy: int
    """Servers that are being asked, or have a pause between two pages."""
    most_busy: int
    """So many were at one time."""
    longest_s: float
    """How long the longest of them takes for the pages that wait for it."""
    pages: int

    def mean_busy(self, overhead_s: float) -> float:
        """Servers at work in the mean of a round that ends its fetch now."""
        whole_s = self.spent_s + overhead_s
        return self.served_s / whole_s if whole_s > 0 else 0.0

    def waiting_s(self, costs: RoundCosts) -> float:
        """How long this fetch takes, at the pace that it had so far, for what waits for the servers
        that are idle now: their share of what was found and of what the list left out."""
        if not self.pages or not self.most_busy:
            return 0.0
        idle = 1.0 - min(1.0, self.busy / self.most_busy)
        return idle * self.spent_s * (costs.found_per_page + costs.due_unlisted / self.pages)


def is_tail(fetch: FetchSoFar, costs: RoundCosts) -> bool:
    """Whether the fetch is better ended. Another round must be worth its overhead: in the time that
    was spent on this one, in the tail that it saves and in what waits for it."""
    if fetch.busy >= fetch.mean_busy(costs.overhead_s):
        return False
    worth_s = min(fetch.spent_s, fetch.longest_s, fetch.waiting_s(costs))
    return worth_s >= costs.overhead_s
