"""parsefilter regex: whether expressions are found in a page, as metadata `true` or `false`.

RE2 (Arrow's) looks for them, in time that grows with the page alone. An expression that it
does not know (look-around, backreferences) is left to Python and the beginning of the page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from crawl.config import Config, file, integer, text
from crawl.interfaces.page import Page
from crawl.interfaces.parsefilter import ParseFilter
from crawl.model.parse import Parse
from crawl.parsing.text.plain import storable
from crawl.urls.rule_lines import RuleLine, rule_lines

FILE = file(
    "parsefilter.regex.file",
    "regex-parsefilter.txt",
    "Rules of the regex parse filter: name, html or text, expression.",
)
RULES = text(
    "parsefilter.regex.rules", "", "Rules of the regex parse filter, instead of the file's."
)
MAX_LENGTH = integer(
    "parsefilter.regex.max.length",
    100_000,
    "How much of a page is searched for an expression with look-around or backreferences,"
    " which may take very long.",
    unit="characters",
    minimum=1,
)

_SOURCES = ("html", "text")


@dataclass(frozen=True, slots=True)
class _Rule:
    name: str
    source: str
    matches: Callable[[str], bool]


class RegexParseFilter(ParseFilter):
    """A key for each name: whether any of its expressions is found."""

    def __init__(self, config: Config) -> None:
        self._rules = tuple(_read(rule_lines(config, FILE, RULES), config[MAX_LENGTH]))

    def filter(self, page: Page, parse: Parse) -> Parse:
        if not self._rules:
            return parse
        answers: dict[str, bool] = {}
        for rule in self._rules:
            if not answers.get(rule.name):
                searched = page.markup if rule.source == "html" else parse.text
                answers[rule.name] = rule.matches(searched)
        flags = {name: "true" if is_found else "false" for name, is_found in answers.items()}
        return replace(parse, metadata={**parse.metadata, **flags})


def _read(lines: Iterator[RuleLine], max_length: int) -> Iterator[_Rule]:
    for line in lines:
        parts = line.text.split(None, 2)
        if len(parts) != 3:
            raise line.wrong("expected a name, html or text, and an expression")
        name, source, expression = parts
        if source not in _SOURCES:
            raise line.wrong(f"expected html or text, got {source!r}")
        yield _Rule(name, source, _search(line, expression, max_length))


def _search(line: RuleLine, expression: str, max_length: int) -> Callable[[str], bool]:
    try:
        pc.match_substring_regex(pa.array([""]), expression)
    except (pa.ArrowInvalid, UnicodeError):
        pattern = line.compile(expression)
        return lambda searched: pattern.search(searched[:max_length]) is not None
    return lambda searched: _found_by_re2(expression, searched)


def _found_by_re2(expression: str, searched: str) -> bool:
    column = pa.array([storable(searched)], pa.large_string())
    return bool(pc.match_substring_regex(column, expression)[0].as_py())
