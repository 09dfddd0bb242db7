"""IndexDocument: what an index writer is given of a page: a URL, a version, a boost and fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

FieldValue: TypeAlias = str | int | float | bool | list[str]
"""What a field may hold: JSON has a form for each, and every index server too. A time is text
by ISO 8601 in UTC (`2026-11-15T09:30:00Z`)."""


class Inlink(NamedTuple):
    """A link that leads to a page, and the text that it bears."""

    url: str
    anchor: str


@dataclass(slots=True)
class IndexDocument:
    """One document. It is no value: indexing filters add to it one after the other."""

    url: str
    """The key by which writers replace and delete."""
    version: int
    """When the page was fetched, in milliseconds since 1970: an older document never replaces
    a newer one."""
    boost: float = 1.0
    fields: dict[str, FieldValue] = field(default_factory=dict)
    rest: str = ""
    """What the page says beside its content, in menus and footers. It is no field: servers refuse
    fields that their schema lacks. A writer that weighs fields may index it, with little weight."""

    def add(self, name: str, value: FieldValue) -> None:
        """Adds a value to a field, which becomes a list where it has one already."""
        present = self.fields.get(name)
        if present is None:
            self.fields[name] = value
            return
        values = list(present) if isinstance(present, list) else [_text(present)]
        self.fields[name] = values + (value if isinstance(value, list) else [_text(value)])

    def texts(self, name: str) -> list[str]:
        """The values of a field as texts; none where it is absent."""
        value = self.fields.get(name)
        if value is None:
            return []
        return list(value) if isinstance(value, list) else [_text(value)]


def _text(value: FieldValue) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


Fields: TypeAlias = Mapping[str, FieldValue]
