"""adaptive: a page that has changed is due sooner than before, one that has not, later.

Nutch's AdaptiveFetchSchedule and its MimeAdaptive in one: bounds can be set for single
hosts and rates for single MIME types. A `fixedInterval` in the metadata is left alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from crawl.config import Config, boolean, file, interval, number
from crawl.errors import ConfigError
from crawl.interfaces.schedule import PageChange
from crawl.model.datum import CrawlDatum
from crawl.plugins.schedule.base import BaseFetchSchedule, PageVisit, fixed_interval
from crawl.urls.parse import host_of
from crawl.urls.rule_lines import RuleLine, rule_lines

INC_RATE = number(
    "db.fetch.schedule.adaptive.inc_rate",
    0.4,
    "By how much of itself an interval grows when the page has not changed.",
    minimum=0,
)
DEC_RATE = number(
    "db.fetch.schedule.adaptive.dec_rate",
    0.2,
    "By how much of itself an interval shrinks when the page has changed.",
    minimum=0,
    maximum=0.999,
)
MIN_INTERVAL = interval("db.fetch.schedule.adaptive.min_interval", 60, "Shortest interval.")
MAX_INTERVAL = interval("db.fetch.schedule.adaptive.max_interval", 31536000, "Longest interval.")
SYNC_DELTA = boolean(
    "db.fetch.schedule.adaptive.sync_delta",
    True,
    "An interval is no shorter than the time since the page last changed, and the next fetch"
    " is moved towards that time.",
)
SYNC_DELTA_RATE = number(
    "db.fetch.schedule.adaptive.sync_delta_rate",
    0.3,
    "By how much of the time since the last change the next fetch is moved.",
    minimum=0,
    maximum=1,
)
HOSTS_FILE = file(
    "db.fetch.schedule.adaptive.hosts.file",
    "adaptive-host-specific-intervals.txt",
    "Bounds of the adaptive schedule for single hosts.",
)
MIME_FILE = file(
    "db.fetch.schedule.mime.file",
    "adaptive-mimetypes.txt",
    "Rates of the adaptive schedule by MIME type.",
)
_MIME_KEY = "Content-Type"
_GLOBAL = "default"


@dataclass(frozen=True, slots=True)
class Bounds:
    """Shortest and longest interval, in seconds."""

    shortest: float
    longest: float

    def clamp(self, interval: float) -> float:
        """The interval, or the bound that it lies beyond."""
        return min(max(interval, self.shortest), self.longest)


@dataclass(frozen=True, slots=True)
class Rates:
    """By how much an interval grows after no change, and shrinks after one."""

    inc: float
    dec: float


class AdaptiveFetchSchedule(BaseFetchSchedule):
    """Intervals follow the changes that were seen."""

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self._rates = Rates(config[INC_RATE], config[DEC_RATE])
        self._bounds = Bounds(config[MIN_INTERVAL], config[MAX_INTERVAL])
        if self._bounds.shortest > self._bounds.longest:
            raise ConfigError(f"{MIN_INTERVAL.name} is longer than {MAX_INTERVAL.name}")
        self._sync = config[SYNC_DELTA]
        self._sync_rate = config[SYNC_DELTA_RATE]
        self._host_bounds = _host_bounds(config, self._bounds)
        self._mime_rates = _mime_rates(config)

    def reschedule(self, datum: CrawlDatum, visit: PageVisit) -> CrawlDatum:
        fixed = fixed_interval(datum)
        if fixed is not None:
            return replace(
                datum,
                fetch_interval=fixed,
                fetch_time=visit.fetched + fixed * 1000,
                modified_time=visit.modified,
            )
        bounds = self._bounds_of(visit.url)
        interval = self._adapted(datum, visit.change)
        earlier = 0.0
        if self._sync:
            unchanged = max(visit.fetched - visit.changed_at, 0) / 1000
            interval = max(interval, unchanged)
            earlier = unchanged * self._sync_rate
            if earlier > bounds.longest:
                # in Nutch an integer division makes this 0
                earlier = self._sync_rate * bounds.longest
        interval = bounds.clamp(interval)
        return replace(
            datum,
            fetch_interval=round(interval),
            fetch_time=visit.fetched + round(bounds.clamp(interval - earlier) * 1000),
            modified_time=visit.changed_at,
        )

    def _adapted(self, datum: CrawlDatum, change: PageChange) -> float:
        interval = float(datum.fetch_interval or self._default)
        rates = self._rates_of(datum)
        if change is PageChange.MODIFIED:
            return interval * (1 - rates.dec)
        if change is PageChange.NOTMODIFIED:
            return interval * (1 + rates.inc)
        return interval

    def _rates_of(self, datum: CrawlDatum) -> Rates:
        if not self._mime_rates:
            return self._rates
        mime = datum.metadata.get(_MIME_KEY, "").partition(";")[0].strip().lower()
        return self._mime_rates.get(mime, self._rates)

    def _bounds_of(self, url: str) -> Bounds:
        if not self._host_bounds:
            return self._bounds
        return self._host_bounds.get(host_of(url) or "", self._bounds)


def _host_bounds(config: Config, within: Bounds) -> Mapping[str, Bounds]:
    """`host shortest longest`, a line a host; `default` or 0 stand for the common bound."""
    by_host: dict[str, Bounds] = {}
    for line in rule_lines(config, HOSTS_FILE):
        host, *numbers = line.text.split()
        if len(numbers) != 2:
            raise line.wrong("expected: host shortest longest")
        shortest = _bound(line, numbers[0], within.shortest)
        longest = _bound(line, numbers[1], within.longest)
        if shortest > longest:
            raise line.wrong("the shortest interval is longer than the longest")
        if shortest < within.shortest or longest > within.longest:
            raise line.wrong(f"outside of {within.shortest:g} to {within.longest:g} s")
        by_host[host.lower()] = Bounds(shortest, longest)
    return by_host


def _mime_rates(config: Config) -> Mapping[str, Rates]:
    """`type inc_rate dec_rate`, a line a MIME type."""
    by_type: dict[str, Rates] = {}
    for line in rule_lines(config, MIME_FILE):
        mime, *numbers = line.text.split()
        if len(numbers) != 2:
            raise line.wrong("expected: type inc_rate dec_rate")
        inc, dec = _number(line, numbers[0]), _number(line, numbers[1])
        if dec >= 1:
            raise line.wrong("a dec_rate of 1 or more leaves no interval")
        by_type[mime.lower()] = Rates(inc, dec)
    return by_type


def _bound(line: RuleLine, text: str, common: float) -> float:
    if text.lower() == _GLOBAL:
        return common
    return _number(line, text) or common


def _number(line: RuleLine, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise line.wrong(f"{text!r} is not a number") from None
    if not math.isfinite(value) or value < 0:
        raise line.wrong(f"{text!r} is not a number from 0 up")
    return value
