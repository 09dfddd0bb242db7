"""What a property's value may look like: one small class a kind; those that count are in
quantities.py.

A kind reads a value either typed, as TOML gives it (`of`), or as the text of a `-D`
(`of_text`); what it cannot read is a ValueError, to which the property adds the names.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

T_co = TypeVar("T_co", covariant=True)

_SEPARATORS = re.compile(r"[,\s]+")


class PropertyType(Generic[T_co]):
    """One way to read a value. A kind says its `name`, `of`, and `limits` or `expected`."""

    __slots__ = ()

    name: ClassVar[str]
    """A word for the documentation: `integer`."""

    @property
    def unit(self) -> str:
        """What a bare number counts; empty where it counts nothing in particular."""
        return ""

    @property
    def limits(self) -> str:
        """Which values are allowed, for the documentation; empty: all of the kind."""
        return ""

    @property
    def expected(self) -> str:
        """Completes the sentence "expected …"."""
        return self.limits

    @abstractmethod
    def of(self, value: object) -> T_co:
        """The value, read from a typed one; ValueError where it is no such thing."""

    def of_text(self, text: str) -> T_co:
        """The value, read from text; ValueError where it is no such thing."""
        return self.of(text)


@dataclass(frozen=True, slots=True)
class Boolean(PropertyType[bool]):
    name = "boolean"
    expected = "true or false"

    def of(self, value: object) -> bool:
        if not isinstance(value, bool):
            raise ValueError("not a boolean")
        return value

    def of_text(self, text: str) -> bool:
        word = text.strip().lower()
        if word not in ("true", "false"):
            raise ValueError("not a boolean")
        return word == "true"


@dataclass(frozen=True, slots=True)
class BooleanOrAuto(PropertyType[str]):
    """true, false, or auto where the product decides by what it finds; read as these words."""

    name = "switch"
    limits = "true, false or auto"

    def of(self, value: object) -> str:
        if isinstance(value, bool):
            return "true" if value else "false"
        if not isinstance(value, str):
            raise ValueError("not a word")
        return self.of_text(value)

    def of_text(self, text: str) -> str:
        word = text.strip().lower()
        if word not in ("true", "false", "auto"):
            raise ValueError("not among the choices")
        return word


@dataclass(frozen=True, slots=True)
class Text(PropertyType[str]):
    name = "text"
    expected = "a text"

    def of(self, value: object) -> str:
        if not isinstance(value, str):
            raise ValueError("not a text")
        return value


@dataclass(frozen=True, slots=True)
class FileName(PropertyType[str]):
    """The name of a rule file; its contents are `Config.read`."""

    name = "file"
    expected = "the name of a file"

    def of(self, value: object) -> str:
        if not isinstance(value, str) or "\0" in value:
            raise ValueError("not a file name")
        return value


@dataclass(frozen=True, slots=True)
class Choice(PropertyType[str]):
    choices: tuple[str, ...]

    name = "choice"

    @property
    def limits(self) -> str:
        return "one of " + ", ".join(choice or '""' for choice in self.choices)

    def of(self, value: object) -> str:
        if value not in self.choices:
            raise ValueError("not among the choices")
        return str(value)

    def of_text(self, text: str) -> str:
        return self.of(text.strip())


@dataclass(frozen=True, slots=True)
class StringList(PropertyType[tuple[str, ...]]):
    name = "words"
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

    def of_text(self, text: str) -> tuple[str, ...]:
        """Commas and blanks both part words: Nutch's properties use either."""
        return tuple(filter(None, _SEPARATORS.split(text)))
