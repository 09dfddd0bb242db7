"""Values by host or `*.domain`, from rule files: cookies, credentials, proxies."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, TypeVar

from crawl.urls.parse import host_of
from crawl.urls.rule_lines import RuleLine

T = TypeVar("T")

_NOT_IN_A_HOST = frozenset("/?#@\\")


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
        host = host_of(f"http://{pattern.removeprefix('*.')}/")
        if host is None or _NOT_IN_A_HOST & set(pattern):
            raise line.wrong(f"{pattern!r} is not a host, *.domain or *")
        self._values[f"*.{host}" if pattern.startswith("*.") else host] = value

    def values(self) -> Iterable[T]:
        return self._values.values()

    def get(self, host: str) -> T | None:
        if not self._values:
            return None
        found = self._values.get(host)
        if found is not None:
            return found
        while "." in host:
            host = host.partition(".")[2]
            found = self._values.get(f"*.{host}")
            if found is not None:
                return found
        return self._values.get("*")
