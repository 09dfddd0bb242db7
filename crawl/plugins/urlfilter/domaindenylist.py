"""urlfilter domaindenylist: no URLs of listed hosts, domains or public suffixes."""

from __future__ import annotations

from crawl.plugins.urlfilter.host_list import HostListFilter
from crawl.urls.rule_lines import rule_properties

FILE, RULES = rule_properties(
    "urlfilter.domaindenylist", "domaindenylist-urlfilter.txt", "domaindenylist filter"
)


class DomainDenylistURLFilter(HostListFilter):
    """What is not listed is accepted, also a URL without a host."""

    rules = (FILE, RULES)

    def rejection_of_host(self, host: str | None) -> str | None:
        entry = self.hosts.entry_for(host) if host else None
        return None if entry is None else f"{entry} is denied"
