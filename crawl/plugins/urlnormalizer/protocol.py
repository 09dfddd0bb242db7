"""urlnormalizer protocol: http or https for sites that answer to both."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from crawl.config import Config
from crawl.interfaces.urlnormalizer import Scope, URLNormalizer
from crawl.plugins.urlnormalizer.host_table import HostTable
from crawl.urls.parse import parse, serialize
from crawl.urls.rule_lines import RuleLine, rule_lines, rule_properties

FILE, RULES = rule_properties("urlnormalizer.protocols", "protocols.txt", "protocol normalizer")

_EXCHANGEABLE = ("http", "https")


class ProtocolURLNormalizer(URLNormalizer):
    """Sets the scheme per host. A URL with a port of its own is left alone, since the
    port answers to one scheme only."""

    def __init__(self, config: Config) -> None:
        self._schemes = _Schemes(rule_lines(config, FILE, RULES))

    def normalize(self, url: str, scope: Scope) -> str | None:
        found = parse(url)
        if found is None or found.scheme not in _EXCHANGEABLE or found.port is not None:
            return url
        scheme = self._schemes.get(found.host)
        if scheme is None or scheme == found.scheme:
            return url
        return serialize(found._replace(scheme=scheme))

    def leaves_alone(self, urls: pa.Array[Any], scope: Scope) -> pa.Array[Any] | None:
        return self._schemes.lacks(urls)


class _Schemes(HostTable):
    wildcard_includes_domain = True  # as in Nutch

    def value(self, line: RuleLine, value: str) -> str:
        scheme = value.lower().removesuffix("://").removesuffix(":")
        if scheme not in _EXCHANGEABLE:
            raise line.wrong(f"expected http or https, got {value!r}")
        return scheme
