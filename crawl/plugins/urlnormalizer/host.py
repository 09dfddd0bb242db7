"""urlnormalizer host: one host for a site that answers under several."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from crawl.config import Config
from crawl.interfaces.urlnormalizer import Scope, URLNormalizer
from crawl.plugins.urlnormalizer.host_table import HostTable
from crawl.urls.host_rules import rule_host
from crawl.urls.parse import parse, serialize
from crawl.urls.rule_lines import RuleLine, rule_lines, rule_properties

FILE, RULES = rule_properties("urlnormalizer.hosts", "host-urlnormalizer.txt", "host normalizer")


class HostURLNormalizer(URLNormalizer):
    """Replaces hosts by their targets, and targets by theirs; a circle is left alone."""

    def __init__(self, config: Config) -> None:
        self._targets = _Targets(rule_lines(config, FILE, RULES))

    def normalize(self, url: str, scope: Scope) -> str | None:
        found = parse(url)
        if found is None:
            return url
        target = self._final(found.host)
        return url if target == found.host else serialize(found._replace(host=target))

    def leaves_alone(self, urls: pa.Array[Any], scope: Scope) -> pa.Array[Any] | None:
        return self._targets.lacks(urls)

    def _final(self, host: str) -> str:
        seen = {host}
        target = host
        while (following := self._targets.get(target)) is not None and following != target:
            if following in seen:
                return host
            seen.add(following)
            target = following
        return target


class _Targets(HostTable):
    def value(self, line: RuleLine, value: str) -> str:
        return rule_host(line, value)
