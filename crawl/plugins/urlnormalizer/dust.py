"""urlnormalizer dust: takes away what makes no difference to a site, by host."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from crawl.config import Config, file, text
from crawl.interfaces.urlnormalizer import Scope, URLNormalizer
from crawl.urls.dust import DustRule, HostDust
from crawl.urls.dust_lines import read_dust_line
from crawl.urls.hosts import decide_by_host
from crawl.urls.parse import parse, serialize
from crawl.urls.rule_lines import rule_lines

FILE = file(
    "urlnormalizer.dust.file",
    "dust-urlnormalizer.txt",
    "Rules of the dust normalizer; `crawl dust --apply` writes such a file.",
)
RULES = text("urlnormalizer.dust.rules", "", "Rules of the dust normalizer, instead of the file's.")


class DustURLNormalizer(URLNormalizer):
    """Drops parameters, index names and slashes, and lowers the case of paths, where a host's
    rules say so. Comes after `basic`, whose normal form it keeps."""

    def __init__(self, config: Config) -> None:
        rules: dict[str, list[DustRule]] = {}
        for line in rule_lines(config, FILE, RULES):
            host, rule, _ = read_dust_line(line)
            rules.setdefault(host, []).append(rule)
        self._by_host = {host: HostDust.of(of_host) for host, of_host in rules.items()}

    def normalize(self, url: str, scope: Scope) -> str | None:
        parts = parse(url)
        dust = self._by_host.get(parts.host) if parts is not None else None
        if parts is None or dust is None or not parts.path.startswith("/"):
            return url
        clean = dust.applied(parts)
        return url if clean == parts else serialize(clean)

    def leaves_alone(self, urls: pa.Array[Any], scope: Scope) -> pa.Array[Any] | None:
        return decide_by_host(urls, lambda host: host not in self._by_host)
