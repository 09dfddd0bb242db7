"""Whole crawls in virtual time: hosts that give a page every so often, rounds that cost a while.

The web is a synthetic one with all its links. No queue and no file is at work, only the rule that
ends a fetch and the order of the steps: what they do to the time of a crawl can be seen for dozens
of webs in a second.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from crawl.phases.fetch.rules import FetchSoFar, RoundCosts, is_tail
from crawl.synthetic.web.plan import WebPlan
from crawl.synthetic.web.settings import Settings

Page = tuple[int, int]
"""A host and a page's number there."""


@dataclass(frozen=True)
class SimulatedWeb:
    """Hosts that are asked for a page every `delay_s`."""

    plan: WebPlan
    delay_s: float = 0.5

    @classmethod
    def plain(cls, hosts: int, pages: int, *, delay_s: float = 0.5, **more: object) -> SimulatedWeb:
        """So many pages of all hosts together."""
        return cls(WebPlan(Settings.plain(hosts, pages, **more)), delay_s)

    @property
    def ideal_s(self) -> float:
        """The longest host's chain: nobody who keeps the delay can be faster."""
        return max(self.plan.sizes) * self.delay_s

    @property
    def pages(self) -> int:
        return sum(self.plan.sizes)

    def links(self, page: Page) -> Iterable[Page]:
        return self.plan.links(*page, self.plan.draws(*page))


@dataclass
class SimulatedCrawl:
    """What rounds until nothing is due came to."""

    seconds: float = 0.0
    rounds: int = 0
    cuts: int = 0
    fetched: list[Page] = field(default_factory=list)


def crawl_in_rounds(web: SimulatedWeb, overhead_s: float, *, is_cut: bool) -> SimulatedCrawl:
    """One step after the other: a list of all that is due, its fetch, then the overhead."""
    done = SimulatedCrawl()
    due: list[Page] = [(host, 0) for host in range(len(web.plan.sizes))]
    known = set(due)
    costs = RoundCosts(overhead_s, found_per_page=1.0)
    while due:
        done.rounds += 1
        fetched, seconds, due = _fetch(web, due, costs if is_cut else None)
        done.cuts += bool(due)
        done.seconds += seconds + overhead_s
        done.fetched += fetched
        before = len(known)
        for page in fetched:
            for link in web.links(page):
                if link not in known:
                    known.add(link)
                    due.append(link)
        costs = RoundCosts(overhead_s, (len(known) - before) / max(1, len(fetched)))
    return done


def _fetch(
    web: SimulatedWeb, pages: list[Page], costs: RoundCosts | None
) -> tuple[list[Page], float, list[Page]]:
    """Every host that has something waiting gives one page in each pause; returns what was fetched,
    how long that took and what was left."""
    waiting: dict[int, deque[Page]] = {}
    for page in pages:
        waiting.setdefault(page[0], deque()).append(page)
    fetched: list[Page] = []
    seconds = served_s = 0.0
    most_busy = 0
    while waiting:
        busy = len(waiting)
        most_busy = max(most_busy, busy)
        longest_s = max(map(len, waiting.values())) * web.delay_s
        so_far = FetchSoFar(seconds, served_s, busy, most_busy, longest_s, len(fetched))
        if costs is not None and is_tail(so_far, costs):
            break
        fetched += [line.popleft() for line in waiting.values()]
        waiting = {host: line for host, line in waiting.items() if line}
        seconds += web.delay_s
        served_s += busy * web.delay_s
    return fetched, seconds, [page for line in waiting.values() for page in line]
