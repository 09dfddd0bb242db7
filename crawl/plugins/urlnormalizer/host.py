"""urlnormalizer host: one host for a site that answers under several."""

from __future__ import annotations

from crawl.plugins.urlnormalizer.host_table import HostTableNormalizer
from crawl.urls.host_rules import rule_host
from crawl.urls.parse import URL
from crawl.urls.rule_lines import RuleLine, rule_properties

FILE, RULES = rule_properties("urlnormalizer.hosts", "host-urlnormalizer.txt", "host normalizer")


class HostURLNormalizer(HostTableNormalizer):
    """Replaces hosts by their targets, and targets by theirs; a circle is left alone."""

    rules = (FILE, RULES)

    def read_value(self, line: RuleLine, value: str) -> str:
        return rule_host(line, value)

    def changed(self, url: URL, value: str) -> URL:
        visited = {url.host}
        target = url.host
        while (following := self.value_of(target)) is not None and following != target:
            if following in visited:
                return url
            visited.add(following)
            target = following
        return url if target == url.host else url._replace(host=target)
