"""Which events somebody wants to hear of, by listening or by webhook."""

from __future__ import annotations

from collections.abc import Collection

import msgspec


def is_at_or_below(host: str, names: Collection[str]) -> bool:
    """Whether the host, or a domain above it, is among the names."""
    while host and host not in names:
        host = host.partition(".")[2]
    return bool(host)


class EventFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which events are wanted; what is empty asks for nothing."""

    hosts: tuple[str, ...] = ()
    """Hosts, and all below them."""
    crawl: str = ""
    """The id of a crawl."""
    tags: tuple[str, ...] = ()
    """Any of these."""

    def wants(self, host: str, crawl: str, tags: Collection[str]) -> bool:
        """Whether an event with these properties passes."""
        if self.crawl and crawl != self.crawl:
            return False
        if self.hosts and not is_at_or_below(host, self.hosts):
            return False
        return not self.tags or any(tag in tags for tag in self.tags)
