"""urlfilter domaindenylist: no URLs of listed hosts, domains or public suffixes."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from crawl.config import Config
from crawl.interfaces.urlfilter import URLFilter
from crawl.plugins.urlfilter.host_list import HostList
from crawl.urls.hosts import decide_by_host
from crawl.urls.parse import host_of
from crawl.urls.rule_lines import rule_lines, rule_properties

FILE, RULES = rule_properties(
    "urlfilter.domaindenylist", "domaindenylist-urlfilter.txt", "domaindenylist filter"
)


class DomainDenylistURLFilter(URLFilter):
    """What is not listed is accepted, also a URL without a host."""

    def __init__(self, config: Config) -> None:
        self._denied = HostList(rule_lines(config, FILE, RULES))

    def rejection(self, url: str) -> str | None:
        host = host_of(url)
        entry = self._denied.entry_for(host) if host else None
        return None if entry is None else f"{entry} is denied"

    def accepts_batch(self, urls: pa.Array[Any]) -> pa.Array[Any] | None:
        if not self._denied:
            return pa.repeat(True, len(urls))
        return decide_by_host(
            urls, lambda host: host is None or self._denied.entry_for(host) is None
        )
