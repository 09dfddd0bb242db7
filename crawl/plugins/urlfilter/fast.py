"""urlfilter fast: deny rules by host and domain, found by look-up and not by trying, for
rule files too large for the regex filter."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from crawl.config import Config, file, integer
from crawl.interfaces.urlfilter import URLFilter
from crawl.plugins.urlfilter.host_decisions import decide_by_kind
from crawl.urls.columns import are_within
from crawl.urls.parse import host_of
from crawl.urls.paths import path_and_query, paths_and_queries
from crawl.urls.re2 import ColumnSearch, is_plain
from crawl.urls.rule_lines import RuleLine, rule_lines

FILE = file("urlfilter.fast.file", "fast-urlfilter.txt", "Rules of the fast filter.")
MAX_LENGTH = integer(
    "urlfilter.fast.url.max.length",
    8192,
    "Longest URL accepted by the fast filter; -1: any, at the risk of slow expressions.",
    unit="characters",
    minimum=-1,
)
PATH_MAX_LENGTH = integer(
    "urlfilter.fast.url.path.max.length",
    -1,
    "Longest path accepted by the fast filter; -1: any.",
    unit="characters",
    minimum=-1,
)
QUERY_MAX_LENGTH = integer(
    "urlfilter.fast.url.query.max.length",
    -1,
    "Longest query accepted by the fast filter; -1: any.",
    unit="characters",
    minimum=-1,
)

_ALL = "."


@dataclass(frozen=True, slots=True)
class _DenyRule:
    pattern: re.Pattern[str]
    with_query: bool
    place: str


_Rules = tuple[_DenyRule, ...]


class FastURLFilter(URLFilter):
    """Accepts what no rule denies. A URL is tried against the rules of its host, of each
    domain above it, and of `Domain .`, which are everybody's."""

    def __init__(self, config: Config) -> None:
        self._max_length = config[MAX_LENGTH]
        self._path_max_length = config[PATH_MAX_LENGTH]
        self._query_max_length = config[QUERY_MAX_LENGTH]
        self._by_section: dict[tuple[str, str], _Rules] = _read(rule_lines(config, FILE))
        self._searches: dict[_Rules, tuple[ColumnSearch | None, ColumnSearch | None]] = {}

    def rejection(self, url: str) -> str | None:
        if 0 <= self._max_length < len(url):
            return f"longer than {self._max_length} characters"
        path, query = path_and_query(url) or ("", "")
        if 0 <= self._path_max_length < len(path):
            return f"its path is longer than {self._path_max_length} characters"
        if 0 <= self._query_max_length < len(query) - 1:
            return f"its query is longer than {self._query_max_length} characters"
        for rule in self._rules_for(host_of(url)):
            if rule.pattern.search(path + query if rule.with_query else path):
                return f"{rule.place}: {rule.pattern.pattern}"
        return None

    def accepts_batch(self, urls: pa.Array[Any]) -> pa.Array[Any] | None:
        verdict = decide_by_kind(urls, self._rules_for, self._verdict)
        believed = is_plain(urls)
        if self._max_length >= 0:
            fitting = are_within(urls, self._max_length)
            verdict = pc.and_kleene(fitting, verdict)
        if self._path_max_length >= 0 or self._query_max_length >= 0:
            limits = [
                limit for limit in (self._path_max_length, self._query_max_length) if limit >= 0
            ]
            believed = pc.and_(believed, are_within(urls, min(limits)))
        answers: pa.Array[Any] = pc.if_else(believed, verdict, None)
        return answers

    def _verdict(self, rules: _Rules, urls: pa.Array[Any]) -> pa.Array[Any]:
        if not rules:
            return pc.is_valid(urls)
        if rules not in self._searches:
            self._searches[rules] = (
                ColumnSearch.of(rule.pattern for rule in rules if not rule.with_query),
                ColumnSearch.of(rule.pattern for rule in rules if rule.with_query),
            )
        by_path, by_query = self._searches[rules]
        if by_path is None or by_query is None:
            return pa.nulls(len(urls), pa.bool_())
        paths, queries = paths_and_queries(urls)
        denied: pa.BooleanArray = pc.or_(
            by_path.matches(paths),
            by_query.matches(
                pc.binary_join_element_wise(paths, queries, pa.scalar("", paths.type))
            ),
        )
        return pc.invert(denied)

    def _rules_for(self, host: str | None) -> _Rules:
        rules = self._by_section.get(("Host", host or ""), ())
        rest = host or ""
        while rest:
            rules += self._by_section.get(("Domain", rest), ())
            rest = rest.partition(".")[2]
        return rules + self._by_section.get(("Domain", _ALL), ())


def _read(lines: Iterator[RuleLine]) -> dict[tuple[str, str], _Rules]:
    by_section: dict[tuple[str, str], _Rules] = {}
    section: tuple[str, str] | None = None
    for line in lines:
        text = line.text.partition("#")[0]  # a comment may follow, as in Nutch
        keyword, rest = (*text.split(None, 1), "")[:2]
        rest = rest.rstrip()
        match keyword:
            case "Host" | "Domain":
                section = keyword, _section_name(line, keyword, rest)
            case "DenyPath" | "DenyPathQuery":
                if section is None:
                    raise line.wrong(f"{keyword} must follow a Host or Domain line")
                deny = _DenyRule(line.compile(rest), keyword == "DenyPathQuery", line.place)
                by_section[section] = (*by_section.get(section, ()), deny)
            case _:
                raise line.wrong(
                    f"expected Host, Domain, DenyPath or DenyPathQuery, got {keyword!r}"
                )
    return by_section


def _section_name(line: RuleLine, keyword: str, name: str) -> str:
    if keyword == "Domain" and name == _ALL:
        return _ALL
    host = None if set(name) & set("/?#@\\ ") else host_of(f"http://{name}/")
    if host is None or host == _ALL:
        raise line.wrong(f"{name!r} is not a {keyword.lower()}")
    return host
