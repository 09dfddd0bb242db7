"""A list of hosts, domains and public suffixes, as the filters domain and domaindenylist
read it."""

from __future__ import annotations

from collections.abc import Iterable

from crawl.urls.domains import public_suffix, registered_domain, tld
from crawl.urls.host_rules import rule_host
from crawl.urls.rule_lines import RuleLine


class HostList:
    """Knows a host by itself, its registered domain, its public suffix or its TLD."""

    def __init__(self, lines: Iterable[RuleLine]) -> None:
        self._listed: set[str] = set()
        for line in lines:
            entry = line.text.strip().removeprefix(".")
            host = rule_host(line, entry, "a host, domain or suffix", may_have_colon=True)
            self._listed.add(host.removesuffix("."))

    def __bool__(self) -> bool:
        return bool(self._listed)

    def entry_for(self, host: str) -> str | None:
        """The entry that the host is listed by, or None."""
        host = host.removesuffix(".")
        for name in (host, registered_domain(host), public_suffix(host), tld(host)):
            if name in self._listed:
                return name
        return None
