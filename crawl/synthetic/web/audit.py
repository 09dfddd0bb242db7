"""Judges a crawler by the server's log: gaps, concurrency, robots.txt, repetitions.

`key` is what a request is counted under: its host, its address, or a function of yours.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import attrgetter

from crawl.synthetic.web import robots
from crawl.synthetic.web.log import LogEntry
from crawl.synthetic.web.web import Web

Key = Callable[[LogEntry], str]


by_host: Key = attrgetter("host")
by_ip: Key = attrgetter("ip")


@dataclass(frozen=True, slots=True)
class RequestGap:
    """The pause between two requests under one key."""

    key: str
    seconds: float
    """From the end of whichever earlier answer ended last; negative where they overlap."""
    before: LogEntry
    after: LogEntry


def gaps(log: Iterable[LogEntry], key: Key = by_host) -> list[RequestGap]:
    """The pause before every request but the first under its key, shortest first."""
    last: dict[str, LogEntry] = {}
    pauses: list[RequestGap] = []
    for entry in sorted(log, key=lambda entry: entry.began):
        name = key(entry)
        before = last.get(name)
        if before is not None:
            pauses.append(RequestGap(name, entry.began - before.ended, before, entry))
        if before is None or entry.ended >= before.ended:
            last[name] = entry
    return sorted(pauses, key=lambda gap: gap.seconds)


def concurrency(log: Iterable[LogEntry], key: Key = by_host) -> dict[str, int]:
    """For each key, the most requests that were under way at one moment."""
    moments: list[tuple[float, int, str]] = []
    for entry in log:
        moments += ((entry.began, 1, key(entry)), (entry.ended, -1, key(entry)))
    # at one moment, ends come first: who waits for an end may begin then
    moments.sort(key=lambda moment: (moment[0], moment[1]))
    now: Counter[str] = Counter()
    most: dict[str, int] = defaultdict(int)
    for _, change, name in moments:
        now[name] += change
        most[name] = max(most[name], now[name])
    return dict(most)


def disallowed(log: Iterable[LogEntry], web: Web, agent: str, time: float = 0.0) -> list[LogEntry]:
    """Requests that the host's robots.txt forbids a crawler of that product token."""
    return [
        entry
        for entry in log
        if (site := web.plan.site(entry.host)) is not None
        and not robots.allows(web.plan, site, entry.path, agent, time)
    ]


def before_robots(log: Iterable[LogEntry]) -> list[LogEntry]:
    """Requests that began before the host had answered one for its robots.txt."""
    answered: dict[str, float] = {}
    entries = sorted(log, key=lambda entry: entry.began)
    for entry in entries:
        if entry.path == "/robots.txt":
            answered[entry.host] = min(entry.ended, answered.get(entry.host, entry.ended))
    return [
        entry
        for entry in entries
        if not robots.is_robots(entry.path) and entry.began < answered.get(entry.host, float("inf"))
    ]


def duplicates(log: Iterable[LogEntry], *, robots_too: bool = False) -> dict[tuple[str, str], int]:
    """(host, path) requested more than once, and how often."""
    times = Counter(
        (entry.host, entry.path) for entry in log if robots_too or not robots.is_robots(entry.path)
    )
    return {page: count for page, count in times.items() if count > 1}
