"""Rules of fields: for which pages they are, and what is taken from where."""

from __future__ import annotations

import fnmatch
import re
from dataclasses import dataclass

import pyarrow as pa

from crawl.parsing.fields.kinds import FieldKind, FieldValue, arrow_type
from crawl.parsing.fields.page_tree import Selector
from crawl.urls.parse import parse

METADATA_PREFIX = "field."
"""Of a field's name in the metadata of a parse."""
COLUMN_PREFIX = "field_"
"""Of a field's name among the columns of an export."""


@dataclass(frozen=True, slots=True)
class FieldRule:
    """How one field is taken from a page."""

    name: str
    selector: Selector
    attribute: str = ""
    """The attribute that is taken; empty: the text."""
    html: bool = False
    """Whether the markup is taken instead of the text."""
    kind: FieldKind = FieldKind.TEXT
    is_list: bool = False
    pattern: re.Pattern[str] | None = None
    """What is cut out of each text: its first group, or all that it matches."""
    default: FieldValue | tuple[FieldValue, ...] | None = None
    decimal: str = "."
    form: str = ""
    """Of a date."""


@dataclass(frozen=True, slots=True)
class FieldColumn:
    """A field as all rules declare it alike."""

    name: str
    kind: FieldKind
    is_list: bool

    @property
    def column(self) -> str:
        return COLUMN_PREFIX + self.name

    @property
    def metadata_key(self) -> str:
        return METADATA_PREFIX + self.name

    @property
    def arrow(self) -> pa.DataType:
        return arrow_type(self.kind, is_list=self.is_list)


@dataclass(frozen=True, slots=True)
class PageRule:
    """The fields of pages of some hosts."""

    name: str
    hosts: tuple[str, ...]
    """`shop.example.org`, `*.example.org` for all hosts below it, `*` for all."""
    paths: tuple[re.Pattern[str], ...]
    """None: all."""
    fields: tuple[FieldRule, ...]

    def is_for(self, host: str, path: str) -> bool:
        return any(_is_host(host, pattern) for pattern in self.hosts) and (
            not self.paths or any(pattern.match(path) for pattern in self.paths)
        )


@dataclass(frozen=True, slots=True)
class FieldRules:
    """All rules of a file, in its order."""

    rules: tuple[PageRule, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.rules)

    def rules_for(self, url: str) -> tuple[PageRule, ...]:
        """The rules for a page."""
        parts = parse(url)
        if parts is None:
            return ()
        host, path = parts.host.lower(), parts.path or "/"
        return tuple(rule for rule in self.rules if rule.is_for(host, path))

    def columns(self) -> tuple[FieldColumn, ...]:
        """The fields, in the order in which they are first declared."""
        fields = (field for rule in self.rules for field in rule.fields)
        columns = (FieldColumn(field.name, field.kind, field.is_list) for field in fields)
        return tuple(dict.fromkeys(columns))


def path_pattern(glob: str) -> re.Pattern[str]:
    """A path with `*` for any characters, as an expression that matches whole paths."""
    return re.compile(fnmatch.translate(glob))


def _is_host(host: str, pattern: str) -> bool:
    if pattern.startswith("*."):
        return host.endswith(pattern[1:])
    return pattern in ("*", host)
