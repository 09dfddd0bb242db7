"""The configuration of one command: values, where each came from, and the rule files
that were read. It changes for nobody once built, and travels to executors by pickle.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from crawl.config.properties import CORE
from crawl.config.property import Property
from crawl.config.resources import Resource, Resources
from crawl.masking import masked_setting

T = TypeVar("T")

DEFAULT_ORIGIN = "default"
CODE_ORIGIN = "code"
SPARK_PREFIX = "spark."


@dataclass(frozen=True, slots=True)
class RawValue:
    """A value that somebody set, as it was written, and where."""

    raw: object
    origin: str
    is_text: bool = False
    """From a command line, which knows no types."""
    declared: Property[Any] | None = None
    """None where the declaration, a plugin's, is known only once it is asked for."""

    def read_as(self, key: Property[T]) -> T:
        """The typed value; ConfigError where it cannot be meant."""
        if self.is_text:
            return key.parse_text(str(self.raw), self.origin)
        return key.parse(self.raw, self.origin)

    def value(self) -> object:
        """One form for all spellings of a value (0.5 and "500ms"), as far as known."""
        return self.raw if self.declared is None else self.read_as(self.declared)


@dataclass(frozen=True, slots=True)
class ChangedProperty:
    """A setting that differs from its default."""

    name: str
    value: object
    origin: str


@dataclass(frozen=True, slots=True, eq=False)
class Config:
    """Typed values by property. Build one with `load`, or with `Config.of` in tests."""

    settings: Mapping[str, RawValue] = field(default_factory=dict)
    resources: Resources = field(default_factory=Resources)
    _typed: dict[str, Any] = field(default_factory=dict, init=False, repr=False)
    """Values already asked for: a memo, seen only by speed."""

    @classmethod
    def of(
        cls, values: Mapping[str, object] | None = None, files: Mapping[str, str] | None = None
    ) -> Config:
        """A configuration of its own: these settings, and these rule files by name."""
        read = {name: Resource(text, name) for name, text in (files or {}).items()}
        return cls(resources=Resources(read=read)).with_values(values or {})

    def with_values(self, values: Mapping[str, object], origin: str = CODE_ORIGIN) -> Config:
        """A copy with these settings on top; those of known properties are checked."""
        settings = dict(self.settings)
        for name, raw in values.items():
            before = self.settings.get(name)
            declared = CORE.get(name) or (before and before.declared) or None
            settings[name] = RawValue(raw, origin, declared=declared)
            settings[name].value()
        return Config(settings, self.resources)

    def __getitem__(self, key: Property[T]) -> T:
        """The value of the property; ConfigError where it was set to what it cannot be."""
        if key.name in self._typed:
            value: T = self._typed[key.name]
            return value
        set_to = self.settings.get(key.name)
        value = self._default(key) if set_to is None else set_to.read_as(key)
        self._typed[key.name] = value
        return value

    def _default(self, key: Property[T]) -> T:
        default = key.default
        return self[default] if isinstance(default, Property) else default

    def origin(self, key: Property[Any]) -> str:
        """Where the value came from: `default`, the path of a site file, or `-D`."""
        set_to = self.settings.get(key.name)
        return DEFAULT_ORIGIN if set_to is None else set_to.origin

    def read(self, key: Property[str]) -> str:
        """The text of the rule file that the property names; ConfigError if missing."""
        return self.resources.find(self[key], key.name).text

    def source(self, key: Property[str]) -> str:
        """Where that rule file was found, for messages about its lines."""
        return self.resources.find(self[key], key.name).origin

    def spark_settings(self) -> dict[str, str]:
        """The `spark.` keys, for the session."""
        return {
            name: _spark_text(set_to.raw)
            for name, set_to in sorted(self.settings.items())
            if name.startswith(SPARK_PREFIX)
        }

    def changed(self) -> tuple[ChangedProperty, ...]:
        """The settings that differ from their defaults, by name."""
        return tuple(
            ChangedProperty(name, set_to.value(), set_to.origin)
            for name, set_to in sorted(self.settings.items())
            if set_to.declared is None or set_to.value() != self._default(set_to.declared)
        )

    def digest(self) -> str:
        """A short name for what makes this crawl differ from a default one: settings and
        the rule files read so far. Equal settings have equal digests, wherever set; a secret
        is no part of it, because a digest is stored and could be guessed at."""
        spark = self.spark_settings()
        summary = {
            "values": {
                change.name: masked_setting(change.name, spark.get(change.name, change.value))
                for change in self.changed()
            },
            "files": {
                name: hashlib.sha256(resource.text.encode("utf-8", "surrogatepass")).hexdigest()
                for name, resource in self.resources.read.items()
            },
        }
        as_json = json.dumps(summary, sort_keys=True, default=str)
        return hashlib.sha256(as_json.encode("ascii")).hexdigest()[:12]

    def __reduce__(self) -> tuple[Any, ...]:
        return Config, (dict(self.settings), self.resources)


def _spark_text(raw: object) -> str:
    """A setting as Spark wants to read it."""
    return str(raw).lower() if isinstance(raw, bool) else str(raw)
