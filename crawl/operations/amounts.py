"""Amounts as people write them on a command line: 10e9, 84kB, 5s, 10Gbit."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from crawl.config.quantities import DURATION_UNITS, SIZE_UNITS
from crawl.errors import UsageError

BIT_UNITS: Mapping[str, float] = {"bit": 1, "kbit": 1e3, "Mbit": 1e6, "Gbit": 1e9, "Tbit": 1e12}
COUNT_UNITS: Mapping[str, float] = {"": 1}
_AMOUNT = re.compile(r"([0-9]+(?:[_,][0-9]{3})*(?:\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?\s*(.*)")


@dataclass(frozen=True, slots=True)
class Amount:
    """A number with one of some units, as an option reads it from a word; what is wrong with it is
    one line."""

    name: str
    units: Mapping[str, float]
    bare: str
    """The unit where none is given."""
    example: str
    positive: bool = True

    def __call__(self, value: str) -> float:
        match = _AMOUNT.fullmatch(value.strip())
        unit = (match[3] or self.bare) if match else ""
        if match is None or unit not in self.units:
            units = f", with a unit of {', '.join(self.units)}" if len(self.units) > 1 else ""
            raise UsageError(f"{value!r} is no {self.name} (such as {self.example}{units})")
        digits = re.sub("[_,]", "", match[1])
        amount = float(digits + (match[2] or "")) * self.units[unit]
        if not math.isfinite(amount) or (self.positive and amount <= 0):
            raise UsageError(f"{value!r}: above 0 and finite is wanted")
        return amount


def _seconds(units: Mapping[str, int]) -> dict[str, float]:
    return {name: milliseconds / 1000 for name, milliseconds in units.items()}


COUNT = Amount("number", COUNT_UNITS, "", "10e9")
COUNT_OR_ZERO = Amount("number", COUNT_UNITS, "", "0.5", positive=False)
SIZE = Amount("size", SIZE_UNITS, "B", "84kB")
SECONDS = Amount("duration", _seconds(DURATION_UNITS), "s", "500ms", positive=False)
DAYS = Amount(
    "duration",
    {name: seconds / 86_400 for name, seconds in _seconds(DURATION_UNITS).items()},
    "d",
    "30d",
)
BITS = Amount("bandwidth", BIT_UNITS, "bit", "10Gbit")

_Shown = Callable[[float], str]


def _scaled(units: list[str]) -> _Shown:
    def shown(amount: float) -> str:
        place = 0
        # what would be rounded to a thousand belongs to the next unit
        while amount >= 999.5 and place < len(units) - 1:
            amount, place = amount / 1000, place + 1
        return f"{amount:.3g} {units[place]}".rstrip()

    return shown


format_bytes = _scaled(["B", "kB", "MB", "GB", "TB", "PB"])
format_count = _scaled(["", "k", "M", "G", "T"])


def format_time(seconds: float) -> str:
    """In the largest unit that fits."""
    if seconds >= 2 * 86_400:
        return f"{seconds / 86_400:.3g} d"
    if seconds >= 5_400:
        return f"{seconds / 3600:.3g} h"
    if seconds >= 120:
        return f"{seconds / 60:.3g} min"
    return f"{seconds:.3g} s"
