"""indexingfilter replace: regular expressions that change fields, by host or URL.

    title=/ \\| Example$//
    content=/colour/color/i

RE2's expressions through Arrow: none takes longer than the text is long.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from crawl.config import Config, text
from crawl.errors import ConfigError
from crawl.interfaces.indexingfilter import IndexablePage, IndexingFilter
from crawl.model.documents import IndexDocument

RULES = text(
    "index.replace.regexp",
    "",
    "One rule a line: FIELD=/expression/replacement/flags, for all hosts or, behind a line"
    " hostmatch=EXPRESSION or urlmatch=EXPRESSION, for some. The sign after `=` is the separator;"
    " flags: i. OTHER:FIELD=… writes to another field.",
)


@dataclass(frozen=True, slots=True)
class _Rule:
    source: str
    target: str
    pattern: str
    replacement: str
    host: str = ""
    url: str = ""


class ReplaceIndexingFilter(IndexingFilter):
    """Rules in their order."""

    properties = (RULES,)

    def __init__(self, config: Config) -> None:
        self._rules = _read(config[RULES])

    def filter(self, document: IndexDocument, page: IndexablePage) -> IndexDocument:
        for rule in self._rules:
            if rule.host and not _matches(page.host, rule.host):
                continue
            if rule.url and not _matches(page.url, rule.url):
                continue
            value = document.fields.get(rule.source)
            if isinstance(value, str):
                document.fields[rule.target] = _replaced([value], rule)[0]
            elif isinstance(value, list) and value:
                document.fields[rule.target] = _replaced(value, rule)
        return document


def _matches(value: str, pattern: str) -> bool:
    return bool(pc.match_substring_regex(pa.scalar(value), pattern).as_py())


def _replaced(values: list[str], rule: _Rule) -> list[str]:
    column: Any = pa.array(values, pa.string())
    texts: list[str] = pc.replace_substring_regex(
        column, rule.pattern, rule.replacement
    ).to_pylist()
    return texts


def _read(raw: str) -> list[_Rule]:
    rules: list[_Rule] = []
    host = url = ""
    for line in filter(None, map(str.strip, raw.splitlines())):
        name, sign, rest = line.partition("=")
        if not sign or not name or not rest:
            raise ConfigError(f"{RULES.name}: {line!r}: expected FIELD=/expression/replacement/")
        if name in ("hostmatch", "urlmatch"):
            host, url = (_checked(rest), "") if name == "hostmatch" else ("", _checked(rest))
            continue
        parts = rest[1:].split(rest[0])
        if len(parts) != 3 or not parts[0] or parts[2].strip("i"):
            raise ConfigError(f"{RULES.name}: {line!r}: expected FIELD=/expression/replacement/")
        pattern = _checked(f"(?i){parts[0]}" if "i" in parts[2] else parts[0], parts[1])
        source, _, target = name.partition(":")
        rules.append(_Rule(source, target or source, pattern, parts[1], host, url))
    return rules


def _checked(pattern: str, replacement: str = "") -> str:
    try:
        column: Any = pa.array(["x"])
        pc.replace_substring_regex(column, pattern, replacement)
    except pa.ArrowException as error:
        line = " ".join(str(error).split())
        raise ConfigError(f"{RULES.name}: {pattern!r}: {line}") from None
    return pattern
