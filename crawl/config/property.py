"""A property: a key of the configuration with its type, unit, default and one line of
documentation. Code that reads a key declares it once, as a module constant, and asks
`config[CONSTANT]`; so no key is read untyped or goes undocumented.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import chain
from types import ModuleType
from typing import Any, Generic, TypeVar

from crawl.config.property_types import (
    Boolean,
    BooleanOrAuto,
    Choice,
    FileName,
    PropertyType,
    StringList,
    Text,
)
from crawl.config.quantities import Duration, Integer, IntegerOr, Number, Numbers, Size
from crawl.errors import ConfigError
from crawl.masking import masked_setting

T_co = TypeVar("T_co", covariant=True)

LONGEST_INTERVAL = 2**31 - 1
"""Seconds between two fetches that the CrawlDb's column can hold."""
_SHOWN = 60
"""Characters of a wrong value that an error repeats."""


@dataclass(frozen=True, slots=True)
class Property(Generic[T_co]):
    """One key. The default may be another property of the same kind: "same as that"."""

    name: str
    default: T_co | Property[T_co]
    about: str
    kind: PropertyType[T_co]

    def __post_init__(self) -> None:
        """Types the default; one that the property itself would refuse is a mistake."""
        if isinstance(self.default, Property):
            if self.default.kind != self.kind:
                raise ConfigError(
                    f"{self.name}: its default, {self.default.name}, is of another kind"
                )
        else:
            object.__setattr__(self, "default", self.parse(self.default, "its declaration"))

    @property
    def unit(self) -> str:
        """What a bare number counts: `s`, `bytes`, `characters`, or nothing."""
        return self.kind.unit

    def parse(self, value: object, origin: str) -> T_co:
        """The value, read from a typed one as TOML gives it."""
        try:
            return self.kind.of(value)
        except ValueError:
            raise self._wrong(value, origin) from None

    def parse_text(self, text: str, origin: str) -> T_co:
        """The value, read from the text of a `-D`."""
        try:
            return self.kind.of_text(text)
        except ValueError:
            raise self._wrong(text, origin) from None

    def _wrong(self, value: object, origin: str) -> ConfigError:
        got = _repeat(masked_setting(self.name, value))
        return ConfigError(f"{self.name}: expected {self.kind.expected}, got {got} (from {origin})")


def _repeat(value: object) -> str:
    """The value on one line and not at length, as the user may have written it."""
    try:
        shown = json.dumps(value, ensure_ascii=False, default=str)
    except ValueError:  # an integer of thousands of digits
        shown = type(value).__name__
    if not shown.isprintable():
        shown = json.dumps(value, default=str)
    return shown if len(shown) <= _SHOWN else shown[: _SHOWN - 1] + "…"


def boolean(name: str, default: bool | Property[bool], about: str) -> Property[bool]:
    """true or false."""
    return Property(name, default, about, Boolean())


def boolean_or_auto(name: str, about: str) -> Property[str]:
    """true, false or, by default, auto."""
    return Property(name, "auto", about, BooleanOrAuto())


def integer(
    name: str,
    default: int | Property[int],
    about: str,
    *,
    unit: str = "",
    minimum: int | None = None,
    maximum: int | None = None,
) -> Property[int]:
    """A whole number."""
    return Property(name, default, about, Integer(unit, minimum, maximum))


def integer_or(
    name: str, default: int | str, words: Iterable[str], about: str, *, unit: str = ""
) -> Property[int | str]:
    """A whole number, or one of a few words."""
    return Property(name, default, about, IntegerOr(tuple(words), unit))


def number(
    name: str,
    default: float | Property[float],
    about: str,
    *,
    unit: str = "",
    minimum: float | None = None,
    maximum: float | None = None,
) -> Property[float]:
    """A finite number."""
    return Property(name, default, about, Number(unit, minimum, maximum))


def text(name: str, default: str | Property[str], about: str) -> Property[str]:
    """Any text."""
    return Property(name, default, about, Text())


def choice(
    name: str, default: str | Property[str], choices: Iterable[str], about: str
) -> Property[str]:
    """One of a few words."""
    return Property(name, default, about, Choice(tuple(choices)))


def string_list(
    name: str, default: tuple[str, ...] | Property[tuple[str, ...]], about: str
) -> Property[tuple[str, ...]]:
    """A list of words; as text they are parted by commas or blanks."""
    return Property(name, default, about, StringList())


def numbers(
    name: str,
    default: tuple[float, ...] | Property[tuple[float, ...]],
    about: str,
    *,
    minimum: float | None = None,
    maximum: float | None = None,
) -> Property[tuple[float, ...]]:
    """A list of numbers; as text they are parted by commas or blanks."""
    return Property(name, default, about, Numbers("", minimum, maximum))


def duration(
    name: str,
    default: float | Property[float],
    about: str,
    *,
    unit: str,
    minimum: float | None = 0.0,
    maximum: float | None = None,
) -> Property[float]:
    """A float in `unit` (ms, s, min, h, d); texts such as "500ms" are converted."""
    return Property(name, default, about, Duration(unit, minimum, maximum))


def interval(
    name: str, default: float | Property[float], about: str, *, minimum: float = 1
) -> Property[float]:
    """Seconds between two fetches of a page."""
    return duration(name, default, about, unit="s", minimum=minimum, maximum=LONGEST_INTERVAL)


def size(
    name: str, default: int | Property[int], about: str, *, minimum: int | None = 0
) -> Property[int]:
    """A number of bytes; texts such as "1MiB" are converted."""
    return Property(name, default, about, Size("bytes", minimum))


def file(name: str, default: str | Property[str], about: str) -> Property[str]:
    """The name of a rule file, whose contents are `config.read(property)`."""
    return Property(name, default, about, FileName())


def properties_in(*modules: ModuleType) -> tuple[Property[Any], ...]:
    """The properties that are constants of the modules, or values of tables that are: whoever
    declares one need not list it a second time."""
    return tuple(dict.fromkeys(chain(*map(_constants, modules))))


@cache
def _constants(module: ModuleType) -> list[Property[Any]]:
    constants = list(vars(module).values())
    tables = [table.values() for table in constants if isinstance(table, dict)]
    return [each for each in chain(constants, *tables) if isinstance(each, Property)]
