"""Parameters of a writer in index-writers.toml, or of `--params`, whose values are texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from crawl.did_you_mean import did_you_mean
from crawl.errors import ConfigError
from crawl.masking import masked_setting


class Parameters:
    """Reads parameters by type; knows which there are."""

    def __init__(self, values: Mapping[str, Any], names: tuple[str, ...]) -> None:
        for name in values:
            if name not in names:
                listed = ", ".join(sorted(names)) or "none"
                near = did_you_mean(name, names) or f" (there is {listed})"
                raise ConfigError(f"no parameter is called {name!r}{near}")
        self._values = values

    def text(self, name: str, default: str = "") -> str:
        value = self._values.get(name, default)
        if not isinstance(value, str):
            raise _fault(name, "a text", value)
        return value

    def number(self, name: str, default: float, *, least: float = 0) -> float:
        value = self._values.get(name, default)
        with suppress(TypeError, ValueError):
            if not isinstance(value, bool) and (result := float(value)) >= least:
                return result
        raise _fault(name, f"a number of at least {least:g}", value)

    def whole(self, name: str, default: int, *, least: int = 0) -> int:
        result = self.number(name, default, least=least)
        if not result.is_integer():
            raise ConfigError(f"{name}: expected a whole number, got {result!r}")
        return int(result)

    def flag(self, name: str, *, default: bool) -> bool:
        value = self._values.get(name, default)
        if isinstance(value, str) and value.lower() in ("true", "false"):
            return value.lower() == "true"
        if not isinstance(value, bool):
            raise _fault(name, "true or false", value)
        return value

    def names(self, name: str, default: tuple[str, ...] = ()) -> tuple[str, ...]:
        value = self._values.get(name, list(default))
        if isinstance(value, str):
            value = [each.strip() for each in value.split(",") if each.strip()]
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise _fault(name, "a list of texts", value)
        return tuple(value)

    def choice(self, name: str, values: tuple[str, ...]) -> str:
        """One of the values; the first is the default."""
        value = self._values.get(name, values[0])
        if value not in values:
            raise ConfigError(f"{name}: expected {' or '.join(values)}, got {value!r}")
        return str(value)

    def table(self, name: str) -> dict[str, str]:
        """Texts by name: a table, whose names may have dots, or the text `a=1,b=2`. Values are
        told to nobody: they may be passwords."""
        value = self._values.get(name, {})
        if isinstance(value, str):
            pairs = [each.partition("=") for each in value.split(",") if each.strip()]
            value = {key.strip(): text.strip() for key, equals, text in pairs if equals}
            if len(value) < len(pairs):
                raise ConfigError(f"{name}: expected NAME=VALUE,NAME=VALUE")
        if not isinstance(value, dict):
            raise ConfigError(f"{name}: expected a table")
        return dict(_flat(name, value))


def _fault(name: str, expected: str, value: object) -> ConfigError:
    return ConfigError(f"{name}: expected {expected}, got {masked_setting(name, value)!r}")


def _flat(where: str, table: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    """TOML reads `a.b = 1` as a table in a table."""
    for key, value in table.items():
        name = f"{above}{key}"
        if isinstance(value, dict):
            yield from _flat(where, value, f"{name}.")
        elif isinstance(value, bool):
            yield name, str(value).lower()
        elif isinstance(value, str | int | float):
            yield name, str(value)
        else:
            raise ConfigError(f"{where}: {name}: expected a text or a number")
