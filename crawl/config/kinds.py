"""What a property's value may look like: one small class a kind.

A kind reads a value either typed, as TOML gives it (`of`), or as the text of a `-D`
(`of_text`); what it cannot read is a ValueError, to which the property adds the names.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

T_co = TypeVar("T_co", covariant=True)

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
_SEPARATORS = re.compile(r"[,\s]+")


class Kind(Protocol[T_co]):
    """One way to read a value."""

    @property
    def name(self) -> str:
        """A word for the documentation: `integer`."""
        ...

    @property
    def unit(self) -> str:
        """What a bare number counts; empty where it counts nothing in particular."""
        ...

    @property
    def expected(self) -> str:
        """Completes the sentence "expected …"."""
        ...

    def of(self, value: object) -> T_co:
        """The value, read from a typed one; ValueError where it is no such thing."""
        ...

    def of_text(self, given: str) -> T_co:
        """The value, read from text; ValueError where it is no such thing."""
        ...


def _between(minimum: float | None, maximum: float | None) -> str:
    if minimum is not None and maximum is not None:
        return f" from {minimum:g} to {maximum:g}"
    if minimum is not None:
        return f" of at least {minimum:g}"
    if maximum is not None:
        return f" of at most {maximum:g}"
    return ""


def _within(value: float, minimum: float | None, maximum: float | None) -> None:
    if not math.isfinite(value):
        raise ValueError("not finite")
    if (minimum is not None and value < minimum) or (maximum is not None and value > maximum):
        raise ValueError("out of range")


def _float(value: object) -> float:
    """Any TOML number; bool is an int to Python, but not to a reader."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("not a number")
    try:
        return float(value)
    except OverflowError:
        raise ValueError("too large") from None


def _quantity(given: str) -> tuple[float, str]:
    """A number and the letters after it."""
    match = _QUANTITY.fullmatch(given.strip())
    if match is None:
        raise ValueError("not a number")
    return float(match[1]), match[2]


@dataclass(frozen=True, slots=True)
class Boolean:
    name = "boolean"
    unit = ""
    expected = "true or false"

    def of(self, value: object) -> bool:
        if not isinstance(value, bool):
            raise ValueError("not a boolean")
        return value

    def of_text(self, given: str) -> bool:
        word = given.strip().lower()
        if word not in ("true", "false"):
            raise ValueError("not a boolean")
        return word == "true"


@dataclass(frozen=True, slots=True)
class Integer:
    unit: str = ""
    minimum: int | None = None
    maximum: int | None = None

    name = "integer"

    @property
    def expected(self) -> str:
        return "an integer" + _between(self.minimum, self.maximum)

    def of(self, value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError("not an integer")
        _within(_float(value), self.minimum, self.maximum)
        return value

    def of_text(self, given: str) -> int:
        if _INTEGER.fullmatch(given.strip()) is None:
            raise ValueError("not an integer")
        return self.of(int(given))


@dataclass(frozen=True, slots=True)
class Number:
    unit: str = ""
    minimum: float | None = None
    maximum: float | None = None

    name = "number"

    @property
    def expected(self) -> str:
        return "a number" + _between(self.minimum, self.maximum)

    def of(self, value: object) -> float:
        number = _float(value)
        _within(number, self.minimum, self.maximum)
        return number

    def of_text(self, given: str) -> float:
        number, letters = _quantity(given)
        if letters:
            raise ValueError("a unit where none belongs")
        return self.of(number)


@dataclass(frozen=True, slots=True)
class Text:
    name = "text"
    unit = ""
    expected = "a text"

    def of(self, value: object) -> str:
        if not isinstance(value, str):
            raise ValueError("not a text")
        return value

    def of_text(self, given: str) -> str:
        return given


@dataclass(frozen=True, slots=True)
class FileName:
    """The name of a rule file; its contents are `Config.read`."""

    name = "file"
    unit = ""
    expected = "the name of a file"

    def of(self, value: object) -> str:
        if not isinstance(value, str) or "\0" in value:
            raise ValueError("not a file name")
        return value

    def of_text(self, given: str) -> str:
        return self.of(given)


@dataclass(frozen=True, slots=True)
class Choice:
    choices: tuple[str, ...]

    name = "choice"
    unit = ""

    @property
    def expected(self) -> str:
        return "one of " + ", ".join(choice or '""' for choice in self.choices)

    def of(self, value: object) -> str:
        if value not in self.choices:
            raise ValueError("not among the choices")
        return str(value)

    def of_text(self, given: str) -> str:
        return self.of(given.strip())


@dataclass(frozen=True, slots=True)
class Words:
    name = "words"
    unit = ""
    expected = 'a list of words (such as ["a", "b"] or "a b")'

    def of(self, value: object) -> tuple[str, ...]:
        if isinstance(value, str):
            return self.of_text(value)
        if not isinstance(value, list | tuple):
            raise ValueError("not a list")
        for word in value:
            if not isinstance(word, str) or not word or _SEPARATORS.search(word):
                raise ValueError("not a word")
        return tuple(value)

    def of_text(self, given: str) -> tuple[str, ...]:
        """Commas and blanks both part words: Nutch's properties use either."""
        return tuple(filter(None, _SEPARATORS.split(given)))


@dataclass(frozen=True, slots=True)
class Numbers:
    minimum: float | None = None
    maximum: float | None = None

    name = "numbers"
    unit = ""

    @property
    def expected(self) -> str:
        return (
            "a list of numbers"
            + _between(self.minimum, self.maximum)
            + ' (such as [0.5, 1] or "0.5 1")'
        )

    def of(self, value: object) -> tuple[float, ...]:
        if isinstance(value, str):
            return self.of_text(value)
        if not isinstance(value, list | tuple):
            raise ValueError("not a list")
        each = Number("", self.minimum, self.maximum)
        return tuple(each.of(number) for number in value)

    def of_text(self, given: str) -> tuple[float, ...]:
        each = Number("", self.minimum, self.maximum)
        return tuple(each.of_text(word) for word in Words().of_text(given))


@dataclass(frozen=True, slots=True)
class Duration:
    """A float in `unit`; a text may bear another unit and is converted."""

    unit: str
    minimum: float | None = 0.0

    name = "duration"

    def __post_init__(self) -> None:
        if self.unit not in DURATION_UNITS:
            raise ValueError(f"{self.unit!r} is no unit of time")

    @property
    def expected(self) -> str:
        other = "2min" if self.unit == "ms" else "500ms"
        bound = "" if self.minimum == 0 else _between(self.minimum, None)
        return f'a duration in {self.unit}{bound} (such as 5 or "{other}")'

    def of(self, value: object) -> float:
        if isinstance(value, str):
            return self.of_text(value)
        number = _float(value)
        _within(number, self.minimum, None)
        return number

    def of_text(self, given: str) -> float:
        number, unit = _quantity(given)
        if unit and unit not in DURATION_UNITS:
            raise ValueError("not a unit of time")
        if unit and unit != self.unit:
            number = number * DURATION_UNITS[unit] / DURATION_UNITS[self.unit]
        return self.of(number)


@dataclass(frozen=True, slots=True)
class Size:
    """A whole number of bytes; a text may bear a decimal or a binary unit."""

    minimum: int | None = 0

    name = "size"
    unit = "bytes"

    @property
    def expected(self) -> str:
        bound = "" if self.minimum == 0 else _between(self.minimum, None)
        return f'a size in bytes{bound} (such as 65536 or "64KiB")'

    def of(self, value: object) -> int:
        if isinstance(value, str):
            return self.of_text(value)
        return Integer("bytes", self.minimum).of(value)

    def of_text(self, given: str) -> int:
        number, unit = _quantity(given)
        if unit and unit not in SIZE_UNITS:
            raise ValueError("not a unit of size")
        size = number * SIZE_UNITS[unit or "B"]
        if not size.is_integer():
            raise ValueError("not a whole number of bytes")
        return self.of(int(size))


def toml(value: object) -> str:
    """A property's value as TOML; JSON's texts, numbers and lists are TOML's too."""
    return json.dumps(value, ensure_ascii=False)
