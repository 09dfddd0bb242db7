"""The key that puts URLs of one server together: its host, its domain or its address."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from crawl.urls.domains import registered_domain
from crawl.urls.parse import host_of

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
    """Tells the key of a URL or host; remembers the addresses of the last hosts."""

    def __init__(
        self, mode: PartitionMode, resolver: Resolver | None = None, cache_size: int = 100_000
    ) -> None:
        if mode is PartitionMode.BY_IP and resolver is None:
            raise ValueError("grouping by IP address needs a resolver")
        self._mode = mode
        self._resolver = resolver
        self._cache_size = max(1, cache_size)
        self._addresses: OrderedDict[str, str | None] = OrderedDict()

    def key_of_url(self, url: str) -> PartitionKey | None:
        """The key of the URL's host; None where the URL has no host."""
        host = host_of(url)
        return self.key_of_host(host) if host else None

    def key_of_host(self, host: str) -> PartitionKey:
        """The key of a host as `host_of` gives it."""
        if self._mode is PartitionMode.BY_HOST:
            return PartitionKey(host)
        if self._mode is PartitionMode.BY_DOMAIN:
            return PartitionKey(registered_domain(host))
        address = self._address(host) if host else None  # files have no address
        return PartitionKey(host, resolved=False) if address is None else PartitionKey(address)

    def _address(self, host: str) -> str | None:
        """From the cache, which forgets the host asked for longest ago."""
        if host in self._addresses:
            self._addresses.move_to_end(host)
            return self._addresses[host]
        assert self._resolver is not None
        try:
            address = self._resolver(host)
        except (OSError, UnicodeError):  # UnicodeError: a name that DNS cannot spell
            address = None
        self._addresses[host] = address
        if len(self._addresses) > self._cache_size:
            self._addresses.popitem(last=False)
        return address
