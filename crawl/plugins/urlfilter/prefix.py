"""urlfilter prefix: only URLs that begin as one of a list."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from crawl.config import Config
from crawl.errors import ConfigError
from crawl.interfaces.urlfilter import URLFilter
from crawl.urls.rule_lines import rule_lines, rule_properties

FILE, RULES = rule_properties("urlfilter.prefix", "prefix-urlfilter.txt", "prefix filter")


class PrefixURLFilter(URLFilter):
    """Looks prefixes up by their length, so that a list of a million is no slower."""

    def __init__(self, config: Config) -> None:
        by_length: dict[int, set[str]] = {}
        for line in rule_lines(config, FILE, RULES):
            prefix = line.text.strip()
            by_length.setdefault(len(prefix), set()).add(prefix)
        if not by_length:
            raise ConfigError(f"{FILE.name}: a list without any prefix would reject every URL")
        self._by_length = sorted(by_length.items())
        self._columns = [(size, pa.array(sorted(texts))) for size, texts in self._by_length]

    def rejection(self, url: str) -> str | None:
        if any(url[:length] in prefixes for length, prefixes in self._by_length):
            return None
        return "begins as none of the prefixes"

    def accepts_batch(self, urls: pa.Array[Any]) -> pa.Array[Any] | None:
        accepted = pa.repeat(False, len(urls))
        for length, prefixes in self._columns:
            beginnings = pc.utf8_slice_codeunits(urls, 0, length).cast(prefixes.type)
            accepted = pc.or_(accepted, pc.is_in(beginnings, prefixes))
        return accepted
