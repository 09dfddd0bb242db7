"""Parameters of a writer in index-writers.toml, or of `--params`, whose values are texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from crawl.did_you_mean import did_you_mean
from crawl.errors import ConfigError


class Parameters:
    """Reads parameters by type; knows which there are."""

    def __init__(self, given: Mapping[str, Any], known: Iterable[str]) -> None:
        names = tuple(known)
        for name in given:
            if name not in names:
                listed = ", ".join(sorted(names)) or "none"
                near = did_you_mean(name, names) or f" (there is {listed})"
                raise ConfigError(f"no parameter is called {name!r}{near}")
        self._given = given

    def text(self, name: str, default: str = "") -> str:
        value = self._given.get(name, default)
        if not isinstance(value, str):
            raise ConfigError(f"{name}: expected a text, got {value!r}")
        return value

    def number(self, name: str, default: float, *, least: float = 0) -> float:
        value = self._given.get(name, default)
        try:
            found = float(value)
        except (TypeError, ValueError):
            found = least - 1
        if isinstance(value, bool) or not found >= least:
            raise ConfigError(f"{name}: expected a number of at least {least:g}, got {value!r}")
        return found

    def whole(self, name: str, default: int, *, least: int = 0) -> int:
        found = self.number(name, default, least=least)
        if found != int(found):
            raise ConfigError(f"{name}: expected a whole number, got {found!r}")
        return int(found)

    def flag(self, name: str, *, default: bool) -> bool:
        value = self._given.get(name, default)
        if isinstance(value, str) and value.lower() in ("true", "false"):
            return value.lower() == "true"
        if not isinstance(value, bool):
            raise ConfigError(f"{name}: expected true or false, got {value!r}")
        return value

    def names(self, name: str, default: tuple[str, ...] = ()) -> tuple[str, ...]:
        value = self._given.get(name, list(default))
        if isinstance(value, str):
            value = [each.strip() for each in value.split(",") if each.strip()]
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise ConfigError(f"{name}: expected a list of texts, got {value!r}")
        return tuple(value)
