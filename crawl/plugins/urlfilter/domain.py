"""urlfilter domain: only URLs of listed hosts, domains or public suffixes."""

from __future__ import annotations

from crawl.plugins.urlfilter.host_list import HostListFilter
from crawl.urls.rule_lines import rule_properties

FILE, RULES = rule_properties("urlfilter.domain", "domain-urlfilter.txt", "domain filter")


class DomainURLFilter(HostListFilter):
    """An empty list accepts everything; otherwise a URL without a host is rejected."""

    rules = (FILE, RULES)

    def rejection_of_host(self, host: str | None) -> str | None:
        is_listed = host is not None and self.hosts.entry_for(host) is not None
        return None if is_listed else f"{host or 'no host'} is not listed"
