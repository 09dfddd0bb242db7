"""The key that puts URLs of one server together: its host, its domain or its address."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache, partial

from crawl.urls.domains import registered_domain

Resolver = Callable[[str], str | None]
"""The IP address of a host, or None where it has none; an OSError means the same."""


class PartitionMode(StrEnum):
    """What URLs are grouped by; the words of `partition.url.mode`."""

    BY_HOST = "byHost"
    BY_DOMAIN = "byDomain"
    BY_IP = "byIP"


@dataclass(frozen=True, slots=True)
class PartitionKey:
    """A group's key."""

    key: str
    resolved: bool = True
    """False where the key is the host because no address could be found for it."""


class Partitioner:
    """Tells the key of a host; remembers the addresses of the last hosts."""

    def __init__(
        self, mode: PartitionMode, resolver: Resolver | None = None, cache_size: int = 100_000
    ) -> None:
        self._mode = mode
        if mode is PartitionMode.BY_IP:
            if resolver is None:
                raise ValueError("grouping by IP address needs a resolver")
            # forgets the host that was asked for longest ago
            self._address = lru_cache(max(1, cache_size))(partial(_resolved, resolver))

    def key_of_host(self, host: str) -> PartitionKey:
        """The key of a host as `host_of` gives it."""
        if self._mode is PartitionMode.BY_HOST:
            return PartitionKey(host)
        if self._mode is PartitionMode.BY_DOMAIN:
            return PartitionKey(registered_domain(host))
        address = self._address(host) if host else None  # files have no address
        return PartitionKey(host, resolved=False) if address is None else PartitionKey(address)


def _resolved(resolver: Resolver, host: str) -> str | None:
    try:
        return resolver(host)
    except (OSError, UnicodeError):  # UnicodeError: a name that DNS cannot spell
        return None
