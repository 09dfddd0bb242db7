"""A list of hosts, domains and public suffixes, and the base of the filters that have one: domain
and domaindenylist."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar

import pyarrow as pa

from crawl.config import Config, Property
from crawl.interfaces.urlfilter import URLFilter
from crawl.urls.domains import public_suffix, registered_domain, tld
from crawl.urls.host_rules import rule_host
from crawl.urls.hosts import decide_by_host
from crawl.urls.parse import host_of
from crawl.urls.rule_lines import RuleLine, rule_lines


class HostList:
    """Knows a host by itself, its registered domain, its public suffix or its TLD."""

    def __init__(self, lines: Iterable[RuleLine]) -> None:
        self._entries: set[str] = set()
        for line in lines:
            entry = line.text.strip().removeprefix(".")
            host = rule_host(line, entry, "a host, domain or suffix", may_have_colon=True)
            self._entries.add(host.removesuffix("."))

    def __bool__(self) -> bool:
        return bool(self._entries)

    def entry_for(self, host: str) -> str | None:
        """The entry that the host is listed by, or None."""
        host = host.removesuffix(".")
        for name in (host, registered_domain(host), public_suffix(host), tld(host)):
            if name in self._entries:
                return name
        return None


class HostListFilter(URLFilter):
    """Decides by the host of a URL; an empty list accepts everything."""

    rules: ClassVar[tuple[Property[str], Property[str]]]
    """The two places where the list may stand."""

    def __init__(self, config: Config) -> None:
        self.hosts = HostList(rule_lines(config, *self.rules))

    @abstractmethod
    def rejection_of_host(self, host: str | None) -> str | None:
        """Why URLs of the host are rejected, or None; the host is None where a URL has none."""

    def rejection(self, url: str) -> str | None:
        return self.rejection_of_host(host_of(url)) if self.hosts else None

    def accepts_batch(self, urls: pa.Array[Any]) -> pa.Array[Any] | None:
        if not self.hosts:
            return pa.repeat(True, len(urls))
        return decide_by_host(urls, lambda host: self.rejection_of_host(host) is None)
