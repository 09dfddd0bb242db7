"""urlnormalizer slash: a slash at the end of the path, or none, by host."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from crawl.config import Config
from crawl.interfaces.urlnormalizer import Scope, URLNormalizer
from crawl.plugins.urlnormalizer.host_table import HostTable
from crawl.urls.parse import parse, serialize
from crawl.urls.rule_lines import RuleLine, rule_lines, rule_properties

FILE, RULES = rule_properties("urlnormalizer.slashes", "slashes.txt", "slash normalizer")

_ADD, _REMOVE = "+", "-"
_EXTENSION_LENGTH = 6


class SlashURLNormalizer(URLNormalizer):
    """Adds a slash to paths that have no extension, or takes slashes from the end of any
    path but the root."""

    def __init__(self, config: Config) -> None:
        self._signs = _Signs(rule_lines(config, FILE, RULES))

    def normalize(self, url: str, scope: Scope) -> str | None:
        found = parse(url)
        sign = self._signs.get(found.host) if found else None
        if found is None or sign is None:
            return url
        path = found.path
        if sign == _REMOVE:
            path = path.rstrip("/") or "/"
        elif not path.endswith("/") and not _has_extension(path):
            path += "/"
        return url if path == found.path else serialize(found._replace(path=path))

    def leaves_alone(self, urls: pa.Array[Any], scope: Scope) -> pa.Array[Any] | None:
        return self._signs.lacks(urls)


def _has_extension(path: str) -> bool:
    """By Nutch's measure: the last six characters hold a dot, and there are six."""
    return len(path) >= _EXTENSION_LENGTH and "." in path[-_EXTENSION_LENGTH:]


class _Signs(HostTable):
    def value(self, line: RuleLine, value: str) -> str:
        if value not in (_ADD, _REMOVE):
            raise line.wrong(f"expected + or -, got {value!r}")
        return value
