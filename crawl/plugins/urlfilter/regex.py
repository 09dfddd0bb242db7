"""urlfilter regex: `+` and `-` rules, the first that matches decides; sections hold rules
for one host or domain."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from crawl.config import Config, boolean, integer
from crawl.interfaces.urlfilter import URLFilter
from crawl.plugins.urlfilter.host_decisions import decide_by_kind
from crawl.plugins.urlfilter.rule_runs import Rule, RuleRuns
from crawl.urls.columns import are_within
from crawl.urls.domains import host_of, registered_domain
from crawl.urls.re2 import is_plain
from crawl.urls.rule_lines import RuleLine, rule_lines, rule_properties

FILE, RULES = rule_properties("urlfilter.regex", "regex-urlfilter.txt", "regex filter")
MAX_LENGTH = integer(
    "urlfilter.regex.max.length",
    8192,
    "Longer URLs are rejected unmatched: a regular expression may take very long over them.",
    unit="characters",
    minimum=1,
)
QUERIES = boolean(
    "urlfilter.regex.queries",
    False,
    "Do without the rule `-[?*!@=]` of the usual file, which leaves out all URLs with a query.",
)
_NO_QUERIES = "-[?*!@=]"

Sections = frozenset[str]


class RegexURLFilter(URLFilter):
    """Accepts a URL if the first rule that is found in it says so."""

    def __init__(self, config: Config) -> None:
        self._max_length = config[MAX_LENGTH]
        lines = rule_lines(config, FILE, RULES)
        if config[QUERIES]:
            lines = (line for line in lines if line.text != _NO_QUERIES)
        self._rules = tuple(_read(lines))
        self._sections = {rule.section for rule in self._rules if rule.section is not None}
        self._runs: dict[Sections, RuleRuns] = {}

    def rejection(self, url: str) -> str | None:
        if len(url) > self._max_length:
            return f"longer than {self._max_length} characters"
        sections = self._sections_of(host_of(url)) if self._sections else frozenset()
        for rule in self._rules:
            if rule.section is not None and rule.section not in sections:
                continue
            if rule.pattern.search(url):
                return None if rule.accepts else f"{rule.place}: -{rule.pattern.pattern}"
        return "no rule accepts it"

    def accepts_batch(self, urls: pa.Array[Any]) -> pa.Array[Any] | None:
        if self._sections:
            verdict = decide_by_kind(urls, self._sections_of, self._verdict)
        else:
            verdict = self._verdict(frozenset(), urls)
        within: pa.Array[Any] = pc.and_kleene(are_within(urls, self._max_length), verdict)
        answers: pa.Array[Any] = pc.if_else(is_plain(urls), within, None)
        return answers

    def _verdict(self, sections: Sections, urls: pa.Array[Any]) -> pa.Array[Any]:
        if sections not in self._runs:
            self._runs[sections] = RuleRuns(
                rule for rule in self._rules if rule.section is None or rule.section in sections
            )
        return self._runs[sections].verdict(urls)

    def _sections_of(self, host: str | None) -> Sections:
        if host is None:
            return frozenset()
        return frozenset(self._sections & {host, registered_domain(host)})


def _read(lines: Iterator[RuleLine]) -> Iterator[Rule]:
    section: str | None = None
    for line in lines:
        sign, rest = line.text[0], line.text[1:]
        match sign:
            case "+" | "-":
                yield Rule(sign == "+", line.compile(rest), line.place, section)
            case ">":
                section = rest.strip().lower()
                if not section:
                    raise line.wrong("`>` needs the host or domain that the section is for")
            case "<":
                if section is None:
                    raise line.wrong("`<` closes a section, but none is open")
                section = None
            case " " | "\t":
                continue  # a comment, as in Nutch
            case _:
                raise line.wrong(f"expected +, -, >, < or #, got {sign!r}")
