"""Rules by host: lines `host value` or `*.domain value`, the format that the normalizers
host, protocol and slash share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, cast

import pyarrow as pa

from crawl.urls.hosts import hosts_of
from crawl.urls.parse import host_of
from crawl.urls.rule_lines import RuleLine

_ANY_SUBDOMAIN = "*."


def canonical_host(text: str) -> str | None:
    """A host as people write it, in the spelling that URLs have."""
    return host_of(f"http://{text}/") if text and not set(text) & set("/?#@:\\") else None


class HostTable:
    """The value of each host: its own line's, else that of the longest `*.domain`."""

    wildcard_includes_domain: ClassVar[bool] = False
    """Whether `*.domain` is also for the domain itself."""

    def __init__(self, lines: Iterable[RuleLine]) -> None:
        self._by_host: dict[str, str] = {}
        for line in lines:
            words = line.text.split()
            if len(words) != 2:
                raise line.wrong("expected a host (or *.domain) and a value")
            name, value = words
            wildcard = name.startswith(_ANY_SUBDOMAIN)
            host = canonical_host(name.removeprefix(_ANY_SUBDOMAIN))
            if host is None:
                raise line.wrong(f"{name!r} is not a host")
            self._by_host[_ANY_SUBDOMAIN + host if wildcard else host] = self.value(line, value)

    def value(self, line: RuleLine, value: str) -> str:
        """Checks a value; raises line.wrong(…) where it cannot be meant."""
        return value

    def get(self, host: str) -> str | None:
        """The value for the host, or None."""
        if host in self._by_host:
            return self._by_host[host]
        rest = host if self.wildcard_includes_domain else host.partition(".")[2]
        while rest:
            found = self._by_host.get(_ANY_SUBDOMAIN + rest)
            if found is not None:
                return found
            rest = rest.partition(".")[2]
        return None

    def lacks(self, urls: pa.Array[Any]) -> pa.Array[Any]:
        """True for each URL of a column whose host has no value here."""
        hosts = hosts_of(urls).dictionary_encode()
        distinct = cast("list[str]", hosts.dictionary.to_pylist())
        lacking = pa.array([self.get(host) is None for host in distinct], pa.bool_())
        return lacking.take(hosts.indices).fill_null(True)
