"""The rule file of fields: TOML, read and checked before anything is parsed.

    [[rule]]
    hosts = ["shop.example.org"]
    paths = ["/product/*"]
    [rule.fields.price]
    css = "span.price"
    kind = "number"

Every complaint is one line with the file, the line of the table, the table and the key.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import PurePath
from typing import Any

from crawl.config import Config, Property, boolean, file
from crawl.did_you_mean import did_you_mean
from crawl.errors import ConfigError
from crawl.parsing.fields.kinds import FieldKind, FieldValue, as_text, convert
from crawl.parsing.fields.page_tree import Selector
from crawl.parsing.fields.rules import FieldRule, FieldRules, PageRule, path_pattern
from crawl.urls.parse import parse

FILE: Property[str] = file(
    "parsefilter.fields.file",
    "fields.toml",
    "Rules of the parse filter fields: what is taken from pages of which hosts, by CSS selectors or"
    " XPath, into metadata, index and export.",
)
EXPLAIN: Property[bool] = boolean(
    "parsefilter.fields.explain",
    False,
    "Keep in the metadata of each page which rule gave each field, and why one is missing;"
    " parsechecker shows that always.",
)

_RULE_KEYS = ("name", "hosts", "paths", "fields")
_FIELD_KEYS = (
    *("css", "xpath", "attribute", "html", "kind", "list", "regex", "default"),
    *("decimal", "format"),
)
_NAME = re.compile(r"[a-z][a-z0-9_]{0,59}")
_RULE_NAME = re.compile(r"[A-Za-z0-9._*-]{1,60}")
_HOST = re.compile(r"\*|(?:\*\.)?[^\s*/:@]+(?:\.[^\s*/:@]+)*")
_MAX_FIELDS = 500
_TAKEN = frozenset(
    (
        *("id", "url", "host", "domain", "site", "title", "content", "anchor", "cache", "segment"),
        *("digest", "boost", "tstamp", "lang", "type", "date", "canonical", "record", "score"),
        *("outlinks", "inlinks", "keywords", "description", "text", "image"),
    )
)
"""Names that documents of an index have already."""


def field_rules(config: Config) -> FieldRules:
    """The rules of `parsefilter.fields.file`; raises ConfigError where they cannot be meant."""
    return read_rules(config.read(FILE), PurePath(config[FILE]).name)


def read_rules(text: str, source: str) -> FieldRules:
    """The rules of a file; `source` is its name for messages."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{source}: {error}") from None
    except RecursionError:
        raise ConfigError(f"{source}: it is nested too deeply") from None
    unknown = next((name for name in content if name != "rule"), None)
    tables = content.get("rule", [])
    if unknown is not None or not isinstance(tables, list):
        raise ConfigError(
            f"{source}: {unknown or 'rule'!r} is unknown: expected tables [[rule]]"
            f"{did_you_mean(unknown or '', ['rule'])}"
        )
    rules = [_rule(table, _Place(source, text, number)) for number, table in enumerate(tables, 1)]
    _require_alike(rules, source)
    return FieldRules(tuple(rules))


@dataclass(frozen=True, slots=True)
class _Place:
    """Where something stands in the file."""

    source: str
    text: str
    rule: int
    name: str = ""
    field: str = ""

    def wrong(self, problem: str) -> ConfigError:
        line = self._line()
        where = self.source if line is None else f"{self.source}:{line}"
        rule = f"rule {self.rule}" + (f" ({self.name})" if self.name else "")
        field = f", field {self.field}" if self.field else ""
        return ConfigError(f"{where}: {rule}{field}: {problem}")

    def _line(self) -> int | None:
        """The line of the table's header; None where it is written in another way."""
        rules, header_line = 0, None
        header = re.compile(rf"\s*\[\s*rule\.fields\.\"?{re.escape(self.field)}\"?\s*\]")
        for number, line in enumerate(self.text.split("\n"), 1):
            if re.match(r"\s*\[\[\s*rule\s*\]\]", line):
                rules += 1
                if rules == self.rule:
                    header_line = number
            elif rules == self.rule and self.field and header.match(line):
                return number
        return header_line


def _rule(table: object, place: _Place) -> PageRule:
    if not isinstance(table, dict):
        raise place.wrong("expected a table")
    _check_keys(table, _RULE_KEYS, place)
    hosts = _texts(table.get("hosts"), "hosts", place)
    if not hosts:
        raise place.wrong('hosts: which are they? Such as ["shop.example.org"], or ["*"] for all')
    hosts = [_host(host, place) for host in hosts]
    name = table.get("name", hosts[0])
    if not isinstance(name, str) or not _RULE_NAME.fullmatch(name):
        raise place.wrong(f"name: {name!r} is none: letters, digits, `-`, `_` and `.`")
    place = replace(place, name=name)
    paths = _texts(table.get("paths", []), "paths", place)
    for path in paths:
        if not path.startswith(("/", "*")):
            raise place.wrong(f"paths: {path!r} begins with neither / nor *")
    fields = table.get("fields", {})
    if not isinstance(fields, dict) or not fields:
        raise place.wrong("it has no fields: expected tables [rule.fields.NAME]")
    if len(fields) > _MAX_FIELDS:
        raise place.wrong(f"more than {_MAX_FIELDS} fields")
    taken = tuple(_field(key, each, replace(place, field=key)) for key, each in fields.items())
    return PageRule(name, tuple(hosts), tuple(map(path_pattern, paths)), taken)


def _host(pattern: str, place: _Place) -> str:
    """The pattern with its host as URLs have it: `bücher.example` is `xn--bcher-kva.example`."""
    if pattern == "*":
        return pattern
    below = "*." if pattern.startswith("*.") else ""
    parts = parse(f"http://{pattern[len(below) :]}/") if _HOST.fullmatch(pattern) else None
    if parts is None or str(parts) != f"http://{parts.host}/":
        raise place.wrong(f"hosts: {pattern!r} is no host such as example.org, *.example.org or *")
    return below + parts.host


def _field(name: str, table: object, place: _Place) -> FieldRule:
    if not _NAME.fullmatch(name):
        raise place.wrong("no name of a field: small letters, digits and `_`, a letter first")
    if name in _TAKEN:
        raise place.wrong("pages have a field of this name in every index: choose another")
    if not isinstance(table, dict):
        raise place.wrong("expected a table")
    _check_keys(table, _FIELD_KEYS, place)
    kind = _kind(table.get("kind", FieldKind.TEXT.value), place)
    is_list, html = _flag(table, "list", place), _flag(table, "html", place)
    attribute = _text(table, "attribute", place)
    if attribute and html:
        raise place.wrong("attribute and html: one of them")
    decimal = _text(table, "decimal", place) or "."
    if decimal not in (".", ",") or (
        "decimal" in table and kind not in (FieldKind.NUMBER, FieldKind.INTEGER)
    ):
        raise place.wrong('decimal: "." or ",", of a number')
    form = _text(table, "format", place)
    if form and kind not in (FieldKind.DATE, FieldKind.DATETIME):
        raise place.wrong("format: of a date, such as %d/%m/%Y")
    if form and (problem := _form_problem(form)):
        raise place.wrong(f"format: {form!r} {problem}, such as %d/%m/%Y")
    selector = _selector(table, place)
    pattern = _pattern(_text(table, "regex", place), place)
    default = _default(table.get("default"), kind, is_list, place)
    return FieldRule(
        *(name, selector, attribute.lower(), html, kind, is_list),
        *(pattern, default, decimal, form),
    )


def _selector(table: Mapping[str, Any], place: _Place) -> Selector:
    css, xpath = _text(table, "css", place), _text(table, "xpath", place)
    if bool(css) == bool(xpath):
        raise place.wrong("expected css or xpath" + (", not both" if css else ""))
    selector = Selector(css or xpath, is_xpath=bool(xpath))
    if problem := selector.problem():
        raise place.wrong(f"{'xpath' if xpath else 'css'}: {problem}")
    return selector


def _kind(value: object, place: _Place) -> FieldKind:
    names = [kind.value for kind in FieldKind]
    if value not in names:
        near = did_you_mean(value, names) if isinstance(value, str) else ""
        raise place.wrong(f"kind: expected {', '.join(names)}, got {value!r}{near}")
    return FieldKind(value)


def _pattern(expression: str, place: _Place) -> re.Pattern[str] | None:
    if not expression:
        return None
    try:
        return re.compile(expression)
    except (re.error, RecursionError, OverflowError) as error:
        raise place.wrong(f"regex: {expression!r} is no regular expression: {error}") from None


def _form_problem(form: str) -> str:
    """Why no day is read by it; empty where one is."""
    if "%" not in form:
        return "has no part of a date"
    day = datetime(2026, 11, 18, 22, 45, 51, tzinfo=UTC)
    try:
        read = datetime.strptime(day.strftime(form), form)  # noqa: DTZ007 (the year is looked at)
    except ValueError:
        return "is none that strptime reads"
    return "" if read.year == day.year else "has no year"


def _default(
    value: object, kind: FieldKind, is_list: bool, place: _Place
) -> FieldValue | tuple[FieldValue, ...] | None:
    if value is None:
        return None
    if isinstance(value, list) != is_list:
        raise place.wrong(f"default: expected {'a list' if is_list else 'one value, no list'}")
    values = value if isinstance(value, list) else [value]
    typed = tuple(_default_value(each, kind, place) for each in values)
    return typed if is_list else typed[0]


def _default_value(value: object, kind: FieldKind, place: _Place) -> FieldValue:
    if isinstance(value, str | bool | int | float | date):
        text = value if isinstance(value, str) else as_text(value)
        converted = convert(text, kind)
        if converted is not None:
            return converted
    raise place.wrong(f"default: {value!r} is no {kind.value}")


def _require_alike(rules: Iterable[PageRule], source: str) -> None:
    """A field of several rules is one column, which has one type."""
    first: dict[str, tuple[PageRule, FieldRule]] = {}
    for rule in rules:
        for field in rule.fields:
            first_rule, first_field = first.setdefault(field.name, (rule, field))
            if (first_field.kind, first_field.is_list) != (field.kind, field.is_list):
                raise ConfigError(
                    f"{source}: field {field.name} is {_described(first_field)} in rule"
                    f" {first_rule.name} and {_described(field)} in rule {rule.name}: as one"
                    " column it must be of one kind"
                )


def _described(field: FieldRule) -> str:
    return f"a list of {field.kind.value}" if field.is_list else field.kind.value


def _check_keys(table: Mapping[str, Any], names: Iterable[str], place: _Place) -> None:
    unknown = next((key for key in table if key not in names), None)
    if unknown is not None:
        raise place.wrong(f"unknown key {unknown!r}{did_you_mean(unknown, names)}")


def _texts(value: object, key: str, place: _Place) -> list[str]:
    values = [value] if isinstance(value, str) else value
    if values is None:
        return []
    if not isinstance(values, list) or not all(isinstance(each, str) for each in values):
        raise place.wrong(f"{key}: expected a text or a list of texts")
    return values


def _text(table: Mapping[str, Any], key: str, place: _Place) -> str:
    value = table.get(key, "")
    if not isinstance(value, str) or (key in table and not value.strip()):
        raise place.wrong(f"{key}: expected a text, got {value!r}")
    return value.strip() if key not in ("regex", "format") else value


def _flag(table: Mapping[str, Any], key: str, place: _Place) -> bool:
    value = table.get(key, False)
    if not isinstance(value, bool):
        raise place.wrong(f"{key}: expected true or false, got {value!r}")
    return value
