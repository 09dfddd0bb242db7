"""The configuration of one command: values, where each came from, and the rule files
that were read. It changes for nobody once built, and travels to executors by pickle.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from crawl.config.properties import CORE
from crawl.config.property import Property
from crawl.config.resources import Resource, Resources

T = TypeVar("T")

DEFAULT_ORIGIN = "default"
CODE_ORIGIN = "code"
COMMAND_LINE_ORIGIN = "-D"
SPARK_PREFIX = "spark."


@dataclass(frozen=True, slots=True)
class Given:
    """A value that somebody set, as it was written, and where."""

    raw: object
    origin: str
    property: Property[Any] | None = None
    """Its declaration, where known already; a plugin's may be known only when asked for."""

    def read_as(self, wanted: Property[T]) -> T:
        """The typed value; ConfigError where it cannot be meant."""
        if self.origin == COMMAND_LINE_ORIGIN and isinstance(self.raw, str):
            return wanted.parse_text(self.raw, self.origin)
        return wanted.parse(self.raw, self.origin)

    def canonical(self) -> object:
        """One form for all spellings of a value: 0.5 and "500ms"."""
        return self.raw if self.property is None else self.read_as(self.property)


@dataclass(frozen=True, slots=True)
class Change:
    """A setting that differs from its default."""

    name: str
    value: object
    origin: str


@dataclass(frozen=True, slots=True, eq=False)
class Config:
    """Typed values by property. Build one with `load`, or with `Config.of` in tests."""

    given: Mapping[str, Given] = field(default_factory=dict)
    spark: Mapping[str, str] = field(default_factory=dict)
    resources: Resources = field(default_factory=Resources)
    _typed: dict[str, Any] = field(default_factory=dict, init=False, repr=False)
    """Values already asked for; a memo that nobody can observe but by speed."""

    @classmethod
    def of(
        cls, values: Mapping[str, object] | None = None, files: Mapping[str, str] | None = None
    ) -> Config:
        """A configuration of its own: these settings, and these rule files by name."""
        resources = Resources(
            read={name: Resource(name, text, CODE_ORIGIN) for name, text in (files or {}).items()}
        )
        return cls(resources=resources).with_values(values or {})

    def with_values(self, values: Mapping[str, object], origin: str = CODE_ORIGIN) -> Config:
        """A copy with these settings on top; keys of the core are checked at once."""
        given = dict(self.given)
        spark = dict(self.spark)
        for name, raw in values.items():
            if name.startswith(SPARK_PREFIX):
                spark[name] = spark_text(raw)
                continue
            known = CORE.get(name)
            if known is None and name in self.given:
                known = self.given[name].property
            given[name] = Given(raw, origin, known)
            given[name].canonical()
        return Config(given, spark, self.resources)

    def __getitem__(self, wanted: Property[T]) -> T:
        """The value of the property; ConfigError where it was set to what it cannot be."""
        if wanted.name in self._typed:
            known: T = self._typed[wanted.name]
            return known
        set_to = self.given.get(wanted.name)
        if set_to is not None:
            value = set_to.read_as(wanted)
        elif isinstance(wanted.default, Property):
            value = self[wanted.default]
        else:
            value = wanted.default
        self._typed[wanted.name] = value
        return value

    def origin(self, wanted: Property[Any]) -> str:
        """Where the value came from: `default`, the path of a site file, or `-D`."""
        set_to = self.given.get(wanted.name)
        return DEFAULT_ORIGIN if set_to is None else set_to.origin

    def read(self, wanted: Property[str]) -> str:
        """The text of the rule file that the property names; ConfigError if missing."""
        return self.resources.find(self[wanted], wanted.name).text

    def source(self, wanted: Property[str]) -> str:
        """Where that rule file was found, for messages about its lines."""
        return self.resources.find(self[wanted], wanted.name).origin

    def spark_settings(self) -> dict[str, str]:
        """The `spark.` keys, for the session."""
        return dict(self.spark)

    def changed(self) -> Iterator[Change]:
        """The settings that differ from their defaults, by name."""
        for name, set_to in sorted(self.given.items()):
            value = set_to.canonical()
            declared = set_to.property
            if declared is None or value != Config()[declared]:
                yield Change(name, value, set_to.origin)

    def digest(self) -> str:
        """A short name for what makes this crawl differ from a default one: settings and
        the rule files read so far. Equal settings have equal digests, wherever set."""
        summary = {
            "values": {change.name: change.value for change in self.changed()},
            "spark": self.spark,
            "files": {
                name: hashlib.sha256(found.text.encode("utf-8", "surrogatepass")).hexdigest()
                for name, found in self.resources.read.items()
            },
        }
        text = json.dumps(summary, sort_keys=True, default=str)
        return hashlib.sha256(text.encode("ascii")).hexdigest()[:12]

    def __reduce__(self) -> tuple[Any, ...]:
        return Config, (dict(self.given), dict(self.spark), self.resources)


def spark_text(raw: object) -> str:
    """A setting as Spark wants to read it."""
    if isinstance(raw, bool):
        return "true" if raw else "false"
    return str(raw)
