"""urlnormalizer slash: a slash at the end of the path, or none, by host."""

from __future__ import annotations

from crawl.plugins.urlnormalizer.host_table import HostTableNormalizer
from crawl.urls.parse import URL
from crawl.urls.rule_lines import RuleLine, rule_properties

FILE, RULES = rule_properties("urlnormalizer.slashes", "slashes.txt", "slash normalizer")

_ADD, _REMOVE = "+", "-"
_EXTENSION_LENGTH = 6


class SlashURLNormalizer(HostTableNormalizer):
    """Adds a slash to paths that have no extension, or takes slashes from the end of any
    path but the root."""

    rules = (FILE, RULES)

    def read_value(self, line: RuleLine, value: str) -> str:
        if value not in (_ADD, _REMOVE):
            raise line.wrong(f"expected + or -, got {value!r}")
        return value

    def changed(self, url: URL, value: str) -> URL:
        path = url.path
        if value == _REMOVE:
            path = path.rstrip("/") or "/"
        elif not path.endswith("/") and not _has_extension(path):
            path += "/"
        return url if path == url.path else url._replace(path=path)


def _has_extension(path: str) -> bool:
    """By Nutch's measure: the last six characters hold a dot, and there are six."""
    return len(path) >= _EXTENSION_LENGTH and "." in path[-_EXTENSION_LENGTH:]
