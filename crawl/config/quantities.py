"""Kinds that count: integers, numbers, durations and sizes, with their units and bounds.

A bare number is in the property's own unit; a text may bear another and is converted.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from crawl.config.property_types import PropertyType, StringList, T_co

DURATION_UNITS: Mapping[str, int] = {
    "ms": 1,
    "s": 1_000,
    "min": 60_000,
    "h": 3_600_000,
    "d": 86_400_000,
}
SIZE_UNITS: Mapping[str, int] = {
    "B": 1,
    "kB": 1000,
    "KB": 1000,
    "MB": 1000**2,
    "GB": 1000**3,
    "TB": 1000**4,
    "KiB": 1 << 10,
    "MiB": 1 << 20,
    "GiB": 1 << 30,
    "TiB": 1 << 40,
}

_INTEGER = re.compile(r"[+-]?[0-9]+(?:_[0-9]+)*")
_QUANTITY = re.compile(
    r"([+-]?(?:[0-9]+(?:_[0-9]+)*(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)\s*([A-Za-z]*)"
)


def _range(minimum: float | None, maximum: float | None) -> str:
    if minimum is not None and maximum is not None:
        return f"from {minimum:.15g} to {maximum:.15g}"
    if minimum is not None:
        return f"at least {minimum:.15g}"
    if maximum is not None:
        return f"at most {maximum:.15g}"
    return ""


def _of(limits: str) -> str:
    """The limits as they follow a noun: `an integer`, `of at least 1`."""
    if not limits:
        return ""
    return f" {limits}" if limits.startswith("from") else f" of {limits}"


def _float(value: object) -> float:
    """Any TOML number; bool is an int to Python, but not to a reader."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("not a number")
    try:
        return float(value)
    except OverflowError:
        raise ValueError("too large") from None


def _quantity(text: str) -> tuple[float, str]:
    """A number and the letters after it."""
    match = _QUANTITY.fullmatch(text.strip())
    if match is None:
        raise ValueError("not a number")
    return float(match[1]), match[2]


@dataclass(frozen=True, slots=True)
class _Bounded(PropertyType[T_co]):
    """A kind of numbers, in a unit and within bounds."""

    unit: str = ""
    minimum: float | None = None
    maximum: float | None = None

    noun: ClassVar[str]
    examples: ClassVar[str] = ""

    @property
    def limits(self) -> str:
        return _range(self.minimum, self.maximum)

    @property
    def expected(self) -> str:
        return self.noun + _of(self.limits) + self.examples

    def _check(self, value: float) -> None:
        if not math.isfinite(value):
            raise ValueError("not finite")
        low, high = self.minimum, self.maximum
        if (low is not None and value < low) or (high is not None and value > high):
            raise ValueError("out of range")


@dataclass(frozen=True, slots=True)
class Integer(_Bounded[int]):
    name = "integer"
    noun = "an integer"

    def of(self, value: object) -> int:
        if not isinstance(value, int):
            raise ValueError("not an integer")
        self._check(_float(value))  # which also refuses a bool
        return value

    def of_text(self, text: str) -> int:
        if _INTEGER.fullmatch(text.strip()) is None:
            raise ValueError("not an integer")
        return self.of(int(text))


@dataclass(frozen=True, slots=True)
class IntegerOr(PropertyType[int | str]):
    """A whole number, or one of a few words."""

    words: tuple[str, ...]
    unit: str = ""

    name = "integer"

    @property
    def expected(self) -> str:
        return "an integer or " + " or ".join(f'"{word}"' for word in self.words)

    def of(self, value: object) -> int | str:
        return str(value) if value in self.words else Integer().of(value)

    def of_text(self, text: str) -> int | str:
        word = text.strip()
        return word if word in self.words else Integer().of_text(text)


@dataclass(frozen=True, slots=True)
class Number(_Bounded[float]):
    name = "number"
    noun = "a number"

    def of(self, value: object) -> float:
        number = _float(value)
        self._check(number)
        return number

    def of_text(self, text: str) -> float:
        number, letters = _quantity(text)
        if letters:
            raise ValueError("a unit where none belongs")
        return self.of(number)


@dataclass(frozen=True, slots=True)
class Numbers(_Bounded[tuple[float, ...]]):
    name = "numbers"
    noun = "a list of numbers"
    examples = ' (such as [0.5, 1] or "0.5 1")'

    def of(self, value: object) -> tuple[float, ...]:
        if isinstance(value, str):
            return self.of_text(value)
        if not isinstance(value, list | tuple):
            raise ValueError("not a list")
        return tuple(map(Number("", self.minimum, self.maximum).of, value))

    def of_text(self, text: str) -> tuple[float, ...]:
        each = Number("", self.minimum, self.maximum)
        return tuple(map(each.of_text, StringList().of_text(text)))


@dataclass(frozen=True, slots=True)
class Duration(_Bounded[float]):
    """A float in `unit`; a text may bear another unit and is converted."""

    name = "duration"

    def __post_init__(self) -> None:
        if self.unit not in DURATION_UNITS:
            raise ValueError(f"{self.unit!r} is no unit of time")

    @property
    def limits(self) -> str:
        return _range(self.minimum or None, self.maximum)

    @property
    def expected(self) -> str:
        other = "2min" if self.unit == "ms" else "500ms"
        return f'a duration in {self.unit}{_of(self.limits)} (such as 5 or "{other}")'

    def of(self, value: object) -> float:
        if isinstance(value, str):
            return self.of_text(value)
        number = _float(value)
        self._check(number)
        return number

    def of_text(self, text: str) -> float:
        number, unit = _quantity(text)
        if unit and unit not in DURATION_UNITS:
            raise ValueError("not a unit of time")
        if unit and unit != self.unit:
            number = number * DURATION_UNITS[unit] / DURATION_UNITS[self.unit]
        return self.of(number)


@dataclass(frozen=True, slots=True)
class Size(Integer):
    """A whole number of bytes; a text may bear a decimal or a binary unit."""

    name = "size"
    noun = "a size in bytes"
    examples = ' (such as 65536 or "64KiB")'

    @property
    def limits(self) -> str:
        return _range(self.minimum or None, None)

    def of(self, value: object) -> int:
        return self.of_text(value) if isinstance(value, str) else Integer.of(self, value)

    def of_text(self, text: str) -> int:
        number, unit = _quantity(text)
        if unit and unit not in SIZE_UNITS:
            raise ValueError("not a unit of size")
        size = number * SIZE_UNITS[unit or "B"]
        if not size.is_integer():
            raise ValueError("not a whole number of bytes")
        return self.of(int(size))
