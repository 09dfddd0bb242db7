"""urlnormalizer protocol: http or https for sites that answer to both."""

from __future__ import annotations

from crawl.plugins.urlnormalizer.host_table import HostTableNormalizer
from crawl.urls.parse import URL
from crawl.urls.rule_lines import RuleLine, rule_properties

FILE, RULES = rule_properties("urlnormalizer.protocols", "protocols.txt", "protocol normalizer")

_EXCHANGEABLE = ("http", "https")


class ProtocolURLNormalizer(HostTableNormalizer):
    """Sets the scheme per host. A URL with a port of its own is left alone, since the
    port answers to one scheme only."""

    rules = (FILE, RULES)
    wildcard_includes_domain = True  # as in Nutch

    def read_value(self, line: RuleLine, value: str) -> str:
        scheme = value.lower().removesuffix("://").removesuffix(":")
        if scheme not in _EXCHANGEABLE:
            raise line.wrong(f"expected http or https, got {value!r}")
        return scheme

    def changed(self, url: URL, value: str) -> URL:
        if url.scheme not in _EXCHANGEABLE or url.port is not None or url.scheme == value:
            return url
        return url._replace(scheme=value)
