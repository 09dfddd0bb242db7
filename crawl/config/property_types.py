"""What a property's value may look like: one small class a kind; those that count are in
quantities.py.

A kind reads a value either typed, as TOML gives it (`of`), or as the text of a `-D`
(`of_text`); what it cannot read is a ValueError, to which the property adds the names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Protocol, TypeVar

T_co = TypeVar("T_co", covariant=True)

_SEPARATORS = re.compile(r"[,\s]+")


class PropertyType(Protocol[T_co]):
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
    def limits(self) -> str:
        """Which values are allowed, for the documentation; empty: all of the kind."""
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


@dataclass(frozen=True, slots=True)
class Boolean:
    name = "boolean"
    unit = ""
    limits = ""
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
class BooleanOrAuto:
    """true, false, or auto where the product decides by what it finds; read as these words."""

    name = "switch"
    unit = ""
    limits = "true, false or auto"
    expected = "true, false or auto"

    def of(self, value: object) -> str:
        if isinstance(value, bool):
            return "true" if value else "false"
        if not isinstance(value, str):
            raise ValueError("not a word")
        return self.of_text(value)

    def of_text(self, given: str) -> str:
        word = given.strip().lower()
        if word not in ("true", "false", "auto"):
            raise ValueError("not among the choices")
        return word


@dataclass(frozen=True, slots=True)
class Text:
    name = "text"
    unit = ""
    limits = ""
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
    limits = ""
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
    def limits(self) -> str:
        return "one of " + ", ".join(choice or '""' for choice in self.choices)

    @property
    def expected(self) -> str:
        return self.limits

    def of(self, value: object) -> str:
        if value not in self.choices:
            raise ValueError("not among the choices")
        return str(value)

    def of_text(self, given: str) -> str:
        return self.of(given.strip())


@dataclass(frozen=True, slots=True)
class StringList:
    name = "words"
    unit = ""
    limits = ""
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
