"""The adaptive schedule's rule files: bounds of single hosts, rates of MIME types."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from crawl.config import Config, Property
from crawl.urls.rule_lines import RuleLine, rule_lines

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


def host_bounds(config: Config, file: Property[str], within: Bounds) -> Mapping[str, Bounds]:
    """`host shortest longest`, a line a host; `default` or 0 stand for the common bound."""
    found: dict[str, Bounds] = {}
    for line in rule_lines(config, file):
        host, *numbers = line.text.split()
        if len(numbers) != 2:
            raise line.wrong("expected: host shortest longest")
        shortest = _bound(line, numbers[0], within.shortest)
        longest = _bound(line, numbers[1], within.longest)
        if shortest > longest:
            raise line.wrong("the shortest interval is longer than the longest")
        if shortest < within.shortest or longest > within.longest:
            raise line.wrong(f"outside of {within.shortest:g} to {within.longest:g} s")
        found[host.lower()] = Bounds(shortest, longest)
    return found


def mime_rates(config: Config, file: Property[str]) -> Mapping[str, Rates]:
    """`type inc_rate dec_rate`, a line a MIME type."""
    found: dict[str, Rates] = {}
    for line in rule_lines(config, file):
        mime, *numbers = line.text.split()
        if len(numbers) != 2:
            raise line.wrong("expected: type inc_rate dec_rate")
        inc, dec = _number(line, numbers[0]), _number(line, numbers[1])
        if dec >= 1:
            raise line.wrong("a dec_rate of 1 or more leaves no interval")
        found[mime.lower()] = Rates(inc, dec)
    return found


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
