"""urlfilter suffix: URLs by how they end, to reject (mode `+`) or alone to accept (`-`)."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from crawl.config import Config
from crawl.interfaces.urlfilter import URLFilter
from crawl.urls.paths import path_and_query, paths_and_queries
from crawl.urls.re2 import is_plain
from crawl.urls.rule_lines import rule_lines, rule_properties

FILE, RULES = rule_properties("urlfilter.suffix", "suffix-urlfilter.txt", "suffix filter")

_FLAGS = frozenset("IP")


class SuffixURLFilter(URLFilter):
    """Flag I ignores letter case, P looks at the path alone, without the query."""

    def __init__(self, config: Config) -> None:
        self._rejects_listed = True
        flags: set[str] = set()
        listed: set[str] = set()
        for line in rule_lines(config, FILE, RULES):
            rule = line.text.strip()
            if rule[0] in "+-":
                self._rejects_listed = rule[0] == "+"
                if not _FLAGS.issuperset(rule[1:]):
                    raise line.wrong(f"expected + or - with the flags I and P, got {rule!r}")
                flags.update(rule[1:])
            else:
                listed.add(rule)
        self._ignores_case = "I" in flags
        self._path_only = "P" in flags
        by_length: dict[int, set[str]] = {}
        for suffix in listed:
            ending = suffix.lower() if self._ignores_case else suffix
            by_length.setdefault(len(ending), set()).add(ending)
        self._by_length = sorted(by_length.items())
        self._columns = [(size, pa.array(sorted(texts))) for size, texts in self._by_length]

    def rejection(self, url: str) -> str | None:
        suffix = self._listed(url)
        if suffix is None:
            return None if self._rejects_listed else "ends as none of the suffixes"
        return f"ends in {suffix}" if self._rejects_listed else None

    def _listed(self, url: str) -> str | None:
        if self._path_only:
            cut = path_and_query(url)
            url = cut[0] if cut else url
        if self._ignores_case:
            url = url.lower()
        for length, endings in self._by_length:
            if url[-length:] in endings:
                return url[-length:]
        return None

    def accepts_batch(self, urls: pa.Array[Any]) -> pa.Array[Any] | None:
        ends = pc.coalesce(paths_and_queries(urls)[0], urls) if self._path_only else urls
        if self._ignores_case:
            ends = pc.ascii_lower(ends)
        listed = pa.repeat(False, len(urls))
        for length, endings in self._columns:
            tails = pc.utf8_slice_codeunits(ends, -length).cast(endings.type)
            listed = pc.or_(listed, pc.is_in(tails, endings))
        accepted = pc.xor(listed, pa.scalar(self._rejects_listed))
        verdict: pa.Array[Any] = pc.if_else(is_plain(urls), accepted, None)
        return verdict
