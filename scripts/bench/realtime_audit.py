"""What the web of the realtime benchmark saw: whether it was asked politely, and how much of a
URL's time was the web's own and its politeness's.

The overhead of a URL is what is left of the time from its submission to the moment when it was
queryable, after these are taken off, request by request of its chain:

- the request itself, from its begin to its end, by the web's own log;
- the wait for its host: until the request before it at that host had ended, and the delay after it.

A request that was free to begin, but began later, is late by so much; the sum of that, and the
time after the last answer, is the service's own doing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from realtime_load import Fate
from realtime_plan import chain_of

from crawl.synthetic.web import LogEntry, before_robots, concurrency, gaps

MEASURED_S = 0.01
"""How exactly a server sees the pause between an answer and the next request."""


@dataclass(frozen=True, slots=True)
class Violations:
    """What a polite crawler does not do."""

    too_soon: int
    """Requests that began before the delay after the one before them was over."""
    at_once: int
    """Requests to a host beyond one at a time."""
    before_robots: int
    """Pages asked for before their host's robots.txt was known."""
    forbidden: int
    """Pages that robots.txt forbids."""

    @property
    def count(self) -> int:
        return self.too_soon + self.at_once + self.before_robots + self.forbidden


def violations(log: list[LogEntry], delay_s: float) -> Violations:
    """All of them."""
    return Violations(
        too_soon=sum(gap.seconds < delay_s - MEASURED_S for gap in gaps(log)),
        at_once=sum(max(0, most - 1) for most in concurrency(log).values()),
        before_robots=len(before_robots(log)),
        forbidden=sum(entry.path.startswith("/private/") for entry in log),
    )


@dataclass(frozen=True, slots=True)
class Spent:
    """Where the time of a URL went, in seconds."""

    web: float
    politeness: float
    late: float
    """Of requests that could have begun earlier."""
    after: float
    """From the last answer to the moment when the URL was queryable."""

    @property
    def own(self) -> float:
        return self.late + self.after


class Overheads:
    """Takes the web's log, and says of each URL what was whose."""

    def __init__(self, log: Iterable[LogEntry], delay_s: float) -> None:
        self._entries: dict[tuple[str, str], list[tuple[LogEntry, float]]] = defaultdict(list)
        """Each request, and the moment from which its host could be asked."""
        free_at: dict[str, float] = {}
        for entry in sorted(log, key=lambda entry: entry.began):
            free = free_at.get(entry.host, float("-inf"))
            self._entries[entry.host, entry.path].append((entry, free))
            free_at[entry.host] = max(free, entry.ended + delay_s)

    def of(self, fate: Fate) -> Spent | None:
        """None of a URL whose share cannot be told: it was not finished, asked for more than once,
        or answered with a failure, after which waiting is right."""
        if not fate.queryable_at:
            return None
        web = politeness = late = 0.0
        ready = fate.submitted_at
        for hop in chain_of(fate.url):
            requests = self._entries.get((hop.host, hop.path), [])
            if len(requests) != 1:
                return None
            entry, free = requests[0]
            if not 200 <= entry.status < 400 or entry.began < ready - MEASURED_S:
                return None
            waited = max(0.0, min(free, entry.began) - ready)
            politeness += waited
            late += max(0.0, entry.began - ready - waited)
            web += entry.ended - entry.began
            ready = entry.ended
        return Spent(web, politeness, late, max(0.0, fate.queryable_at - ready))
