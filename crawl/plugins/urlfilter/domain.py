"""urlfilter domain: only URLs of listed hosts, domains or public suffixes."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from crawl.config import Config
from crawl.interfaces.urlfilter import URLFilter
from crawl.plugins.urlfilter.host_list import HostList
from crawl.urls.hosts import decide_by_host
from crawl.urls.parse import host_of
from crawl.urls.rule_lines import rule_lines, rule_properties

FILE, RULES = rule_properties("urlfilter.domain", "domain-urlfilter.txt", "domain filter")


class DomainURLFilter(URLFilter):
    """An empty list accepts everything; otherwise a URL without a host is rejected."""

    def __init__(self, config: Config) -> None:
        self._allowed = HostList(rule_lines(config, FILE, RULES))

    def rejection(self, url: str) -> str | None:
        host = host_of(url)
        return None if self._accepts(host) else f"{host or 'no host'} is not listed"

    def accepts_batch(self, urls: pa.Array[Any]) -> pa.Array[Any] | None:
        if not self._allowed:
            return pa.repeat(True, len(urls))
        return decide_by_host(urls, self._accepts)

    def _accepts(self, host: str | None) -> bool:
        if not self._allowed:
            return True
        return host is not None and self._allowed.entry_for(host) is not None
