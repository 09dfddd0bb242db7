"""Values by host or `*.domain`, from rule files: cookies, credentials, proxies."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, TypeVar

from crawl.urls.host_rules import nearest, rule_host
from crawl.urls.rule_lines import RuleLine

T = TypeVar("T")


class HostRules(Generic[T]):
    """Looks a value up by host, then by the nearest domain above it, then under `*`."""

    def __init__(self) -> None:
        self._values: dict[str, T] = {}

    def __bool__(self) -> bool:
        return bool(self._values)

    def add(self, line: RuleLine, pattern: str, value: T) -> None:
        """Adds a value; ConfigError, with the line's place, where the pattern is invalid."""
        if pattern == "*":
            self._values["*"] = value
            return
        host = rule_host(line, pattern, "a host, *.domain or *", may_have_colon=True)
        self._values[host] = value

    def values(self) -> Iterable[T]:
        return self._values.values()

    def get(self, host: str) -> T | None:
        value = nearest(self._values, host)
        return self._values.get("*") if value is None else value
