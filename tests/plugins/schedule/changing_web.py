"""A web whose pages change at known rates, and how fresh a schedule keeps its copy of it.

Changes are drawn once, so that every schedule meets the same web. A simulated crawler has
a fixed number of fetches a day and spends all of them: on what is due, the most overdue
first (or as the schedule ranks it), and what is left on what is due soonest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from crawl.interfaces.schedule import FetchSchedule, PageChange
from crawl.model.datum import CrawlDatum
from crawl.model.status import Status

DAY_MS = 86_400_000
START_MS = 1_800_000_000_000
_NEVER = -1


@dataclass(frozen=True)
class ChangingWeb:
    """Pages and when each of them changes, in milliseconds since the beginning."""

    rates: npt.NDArray[np.float64]
    """Changes a day."""
    changes: Sequence[npt.NDArray[np.int64]]
    days: int

    @classmethod
    def of_rates(
        cls, rates: npt.NDArray[np.float64], days: int, chance: np.random.Generator
    ) -> ChangingWeb:
        """Each page a Poisson process."""
        counts = chance.poisson(rates * days)
        changes = [np.sort(chance.integers(0, days * DAY_MS, count)) for count in counts]
        return cls(rates, changes, days)

    @classmethod
    def log_normal(
        cls, pages: int, *, median_days: float, sigma: float, static: float, days: int, seed: int
    ) -> ChangingWeb:
        """A share of the pages never changes; of the others, the mean times between changes
        are spread log-normally around a median."""
        chance = np.random.default_rng(seed)
        rates = np.exp(chance.normal(0.0, sigma, pages)) / median_days
        rates[: round(static * pages)] = 0.0
        return cls.of_rates(rates, days, chance)

    @property
    def size(self) -> int:
        return len(self.changes)

    def next_change(self, page: int, after_ms: int) -> int:
        """When the page changes next; the end of time where it does not again."""
        changes = self.changes[page]
        place = int(np.searchsorted(changes, after_ms, side="right"))
        return int(changes[place]) if place < len(changes) else self.days * DAY_MS + 1


@dataclass(frozen=True)
class FreshnessResult:
    """How fresh a schedule kept the copy."""

    freshness: float
    """Share of pages and time at which the copy was as the page, a page not fetched yet
    counting as stale."""
    by_day: npt.NDArray[np.float64]
    visits: npt.NDArray[np.int64]
    """Fetches of each page."""
    asked: float
    """Pages due at the beginning of a day, on average, as a share of the day's fetches; below
    1 the crawler fetched pages before they were due."""

    @property
    def fetches(self) -> int:
        return int(self.visits.sum())

    def since(self, day: int) -> float:
        """Freshness from that day on."""
        return float(self.by_day[day:].mean())


def simulate(
    schedule: FetchSchedule, web: ChangingWeb, fetches_a_day: int, longest_interval_s: int
) -> FreshnessResult:
    """All the web's days; `longest_interval_s` is db.fetch.interval.max, at which updatedb
    forgets what is known of a page."""
    crawl = _SimulatedCrawl(schedule, web, longest_interval_s)
    for day in range(web.days):
        now = day * DAY_MS
        for turn, page in enumerate(crawl.chosen(now, fetches_a_day)):
            crawl.fetch(page, now + turn * DAY_MS // fetches_a_day)
    return crawl.outcome()


class _SimulatedCrawl:
    def __init__(self, schedule: FetchSchedule, web: ChangingWeb, longest_interval_s: int) -> None:
        self._schedule = schedule
        self._ranks = type(schedule).urgency is not FetchSchedule.urgency
        self._web = web
        self._longest = longest_interval_s
        new = CrawlDatum(Status.DB_UNFETCHED, 0)
        self._datums = [schedule.initialize(_url(p), new, START_MS) for p in range(web.size)]
        self._due = np.full(web.size, 0, dtype=np.int64)
        self._last = np.full(web.size, _NEVER, dtype=np.int64)
        self._visits = np.zeros(web.size, dtype=np.int64)
        self._fresh = 0
        self._due_pages = 0
        self._by_day = np.zeros(web.days, dtype=np.float64)

    def chosen(self, now: int, count: int) -> list[int]:
        """The pages to fetch, best first: what is due, then what is due soonest."""
        at = START_MS + now
        due = np.array(
            [self._schedule.should_fetch(_url(p), d, at) for p, d in enumerate(self._datums)]
        )
        self._due_pages += int(np.count_nonzero(due))
        wait = self._due.astype(np.float64)
        if self._ranks:
            for page in np.flatnonzero(due):
                urgency = self._schedule.urgency(_url(int(page)), self._datums[page], at)
                wait[page] = -urgency
        order = np.lexsort((wait, ~due))
        return [int(page) for page in order[:count]]

    def fetch(self, page: int, at: int) -> None:
        before = self._datums[page]
        change = PageChange.UNKNOWN
        if self._last[page] != _NEVER:
            changed = self._account(page, at)
            if before.status is not Status.DB_UNFETCHED:
                change = PageChange.MODIFIED if changed else PageChange.NOTMODIFIED
        fetched = START_MS + at
        after = self._schedule.after_fetch(
            _url(page),
            replace(before, status=Status.DB_FETCHED, fetch_time=fetched),
            previous_modified=before.modified_time,
            fetched=fetched,
            modified=before.modified_time,
            change=change,
        )
        if change is PageChange.NOTMODIFIED:
            after = replace(after, modified_time=before.modified_time)
        if after.fetch_interval > self._longest:
            after = self._schedule.force_refetch(_url(page), after, fetched, asap=False)
        self._datums[page] = after
        self._due[page] = after.fetch_time - START_MS
        self._last[page] = at
        self._visits[page] += 1

    def _account(self, page: int, until: int) -> bool:
        """Counts how long the page stayed fresh; whether it has changed."""
        since = int(self._last[page])
        stale = self._web.next_change(page, since)
        end = min(stale, until)
        self._fresh += end - since
        first, last = since // DAY_MS, min(end // DAY_MS, self._web.days - 1)
        if first == last:
            self._by_day[first] += end - since
        else:
            self._by_day[first] += (first + 1) * DAY_MS - since
            self._by_day[first + 1 : last] += DAY_MS
            self._by_day[last] += end - last * DAY_MS
        return stale <= until

    def outcome(self) -> FreshnessResult:
        whole = self._web.days * DAY_MS
        for page in np.flatnonzero(self._last != _NEVER):
            self._account(int(page), whole)
        return FreshnessResult(
            freshness=float(self._fresh / whole / self._web.size),
            by_day=self._by_day / DAY_MS / self._web.size,
            visits=self._visits,
            asked=self._due_pages / int(self._visits.sum()),
        )


def _url(page: int) -> str:
    return f"http://host{page % 97}.example/{page}"
