"""Rules by host: lines `host value` or `*.domain value`, the format that the normalizers
host, protocol and slash share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import pyarrow as pa

from crawl.urls.host_rules import nearest, rule_host
from crawl.urls.hosts import decide_by_host
from crawl.urls.rule_lines import RuleLine


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
            self._by_host[rule_host(line, name)] = self.value(line, value)

    def value(self, line: RuleLine, value: str) -> str:
        """Checks a value; raises line.wrong(…) where it cannot be meant."""
        return value

    def get(self, host: str) -> str | None:
        """The value for the host, or None."""
        includes_domain = self.wildcard_includes_domain
        return nearest(self._by_host, host, wildcard_includes_domain=includes_domain)

    def lacks(self, urls: pa.Array[Any]) -> pa.Array[Any]:
        """True for each URL of a column whose host has no value here."""
        return decide_by_host(urls, lambda host: host is None or self.get(host) is None)
