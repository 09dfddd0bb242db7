"""The base of normalizers whose rules are by host: lines `host value` or `*.domain value`."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import pyarrow as pa

from crawl.config import Config, Property
from crawl.interfaces.urlnormalizer import Scope, URLNormalizer
from crawl.urls.host_rules import nearest, rule_host
from crawl.urls.hosts import decide_by_host
from crawl.urls.parse import URL, parse, serialize
from crawl.urls.rule_lines import RuleLine, rule_lines


class HostTableNormalizer(URLNormalizer):
    """Changes the URLs of hosts that have a value: their own line's, else that of the longest
    `*.domain`."""

    rules: ClassVar[tuple[Property[str], Property[str]]]
    """The two places where the lines may stand."""
    wildcard_includes_domain: ClassVar[bool] = False
    """Whether `*.domain` is also for the domain itself."""

    def __init__(self, config: Config) -> None:
        self._by_host: dict[str, str] = {}
        for line in rule_lines(config, *self.rules):
            words = line.text.split()
            if len(words) != 2:
                raise line.wrong("expected a host (or *.domain) and a value")
            name, value = words
            self._by_host[rule_host(line, name)] = self.read_value(line, value)

    @abstractmethod
    def read_value(self, line: RuleLine, value: str) -> str:
        """The value as it is used; raises line.wrong(…) where it cannot be meant."""

    @abstractmethod
    def changed(self, url: URL, value: str) -> URL:
        """The URL as the value of its host wants it."""

    def value_of(self, host: str) -> str | None:
        """The value for the host, or None."""
        includes_domain = self.wildcard_includes_domain
        return nearest(self._by_host, host, wildcard_includes_domain=includes_domain)

    def normalize(self, url: str, scope: Scope) -> str | None:
        parts = parse(url)
        value = None if parts is None else self.value_of(parts.host)
        if parts is None or value is None:
            return url
        changed = self.changed(parts, value)
        return url if changed == parts else serialize(changed)

    def leaves_alone(self, urls: pa.Array[Any], scope: Scope) -> pa.Array[Any] | None:
        return decide_by_host(urls, lambda host: host is None or self.value_of(host) is None)
