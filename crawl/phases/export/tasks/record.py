"""Records: what is exported of a page, or of a chunk of one.

The columns are those that datatrove's readers expect (`id`, `text`; all others become metadata).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from typing import Any

import pyarrow as pa

from crawl.counters import Counters
from crawl.maincontent.extract import extract
from crawl.maincontent.render import Rendered
from crawl.model.table import TIMESTAMP
from crawl.parsing.fields.rules import FieldColumn
from crawl.parsing.fields.stored import value_of
from crawl.parsing.page_dates import published_of
from crawl.parsing.structured import (
    as_json,
    json_ld_items,
    microdata_items,
    opengraph,
    schema_types,
)
from crawl.phases.export.tasks.chunks import chunks_of
from crawl.phases.export.tasks.licences import licence_hints
from crawl.phases.export.tasks.part_pages import SourcePage
from crawl.phases.export.tasks.selection import Change, change_of
from crawl.phases.export.tasks.signals import SIGNALS, signals_of
from crawl.phases.export.values import ChunkUnit, TextKind

Record = dict[str, Any]
"""A value for each column of `SCHEMA`, and for each field of the rules; moments of the former in
milliseconds since 1970."""

_SIGNALS = pa.struct([pa.field(name, kind) for name, kind in SIGNALS.items()])
_TYPES: dict[str, pa.DataType] = {
    "id": pa.string(),
    "text": pa.string(),
    "url": pa.string(),
    "host": pa.string(),
    "title": pa.string(),
    "language": pa.string(),
    "change": pa.string(),
    "fetched_at": TIMESTAMP,
    "modified_at": TIMESTAMP,
    "published": pa.string(),
    "canonical": pa.string(),
    "license": pa.list_(pa.string()),
    "directives": pa.string(),
    "mime_type": pa.string(),
    "segment": pa.string(),
    "score": pa.float32(),
    "signature": pa.string(),
    "content_hash": pa.string(),
    "text_kind": pa.string(),
    "chunk": pa.int32(),
    "chunks": pa.int32(),
    "headings": pa.list_(pa.string()),
    "quality": _SIGNALS,
    "jsonld": pa.list_(pa.string()),
    "microdata": pa.list_(pa.string()),
    "opengraph": pa.map_(pa.string(), pa.list_(pa.string())),
    "schema_types": pa.list_(pa.string()),
}
SCHEMA = pa.schema(_TYPES)
"""Without the fields of rules."""
MOMENTS = frozenset(name for name, kind in _TYPES.items() if kind == TIMESTAMP)

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
"""All but TAB and the ends of lines."""


@dataclass(frozen=True, slots=True)
class RecordMaker:
    """Makes the records of pages."""

    kind: TextKind = TextKind.MAIN
    chunk: int | None = None
    """The most units of a chunk; None: a record is a whole page."""
    unit: ChunkUnit = ChunkUnit.CHARACTERS
    fields: tuple[FieldColumn, ...] = ()
    """The fields of the user's rules, each a column of its own type."""

    @property
    def needs_markup(self) -> bool:
        return self.kind is not TextKind.FULL

    def records(self, page: SourcePage, counters: Counters) -> Iterator[Record]:
        """The records of a page; none where it has no text, which is counted, or one that says
        so where it may have had some."""
        rendered, kind = self._text(page, counters)
        if _CONTROL.search(rendered.text):
            rendered = replace(rendered, text=without_controls(rendered.text))
        if not rendered.text or rendered.text.isspace():
            counters["skipped.no_text"] += 1
            if change_of(page.change) is Change.CHANGED:
                yield gone_record(page.url, page.host, page.fetched_ms)
            return
        counters["pages"] += 1
        counters[f"text.{kind.value}"] += 1
        common = self._common(page, kind)
        common["quality"] = signals_of(rendered.text)
        common |= self._fields(page, counters)
        if self.chunk is None:
            yield {**common, "text": rendered.text, "content_hash": _hash(rendered.text)}
            return
        chunks = chunks_of(rendered.text, rendered.headings, self.chunk, self.unit)
        for number, chunk in enumerate(chunks):
            text = rendered.text[chunk.start : chunk.end]
            yield {
                **common,
                "id": f"{page.url}#chunk={number}",
                "text": text,
                "content_hash": _hash(text),
                "chunk": number,
                "chunks": len(chunks),
                "headings": list(chunk.headings),
                **(_OF_FIRST_CHUNK if number else {}),
            }

    def _text(self, page: SourcePage, counters: Counters) -> tuple[Rendered, TextKind]:
        """The text that is asked for; else, as of a PDF or an empty shell, all there is."""
        if self.kind is TextKind.MAIN and page.main_text and self.chunk is None:
            return Rendered(page.main_text), TextKind.MAIN
        if self.kind is not TextKind.FULL and page.markup:
            try:
                rendered = extract(page.markup, markdown=self.kind is TextKind.MARKDOWN)
            except Exception:  # a page must not end the job
                counters["extraction_errors"] += 1
            else:
                if rendered.text:
                    return rendered, self.kind
        return Rendered(page.text), TextKind.FULL

    def _fields(self, page: SourcePage, counters: Counters) -> Record:
        values: Record = {}
        for field in self.fields:
            value = None
            try:
                value = value_of(page.metadata, field)
            except ValueError:  # the rules were others when the page was parsed
                counters[f"fields.of_other_rules.{field.name}"] += 1
            values[field.column] = value
            if value is not None:
                counters[f"fields.found.{field.name}"] += 1
        if any(value is not None for value in values.values()):
            counters["fields.pages"] += 1
        return values

    def _common(self, page: SourcePage, kind: TextKind) -> Record:
        change = change_of(page.change)
        markup = page.markup or b""
        return {
            **_EMPTY,
            "id": page.url,
            "url": page.url,
            "host": page.host,
            "title": without_controls(page.title),
            "language": page.language,
            "change": change.value if change else None,
            "fetched_at": page.fetched_ms,
            "modified_at": _modified(page),
            "published": published_of(page.metadata, markup, page.url, page.fetched_ms),
            "canonical": page.canonical or None,
            "license": licence_hints(markup, page.url, page.metadata),
            "directives": page.directives or None,
            "mime_type": page.mime_type,
            "segment": page.segment,
            "score": page.score,
            "signature": page.signature.hex() if page.signature else None,
            "text_kind": kind.value,
            "jsonld": _json_texts(json_ld_items(page.metadata)),
            "microdata": _json_texts(microdata_items(page.metadata)),
            "opengraph": opengraph(page.metadata) or None,
            "schema_types": schema_types(page.metadata) or None,
        }


def _json_texts(items: Iterable[Mapping[str, Any]]) -> list[str] | None:
    """Each object as JSON; None for none."""
    return [text for item in items if (text := as_json(item)) is not None] or None


_EMPTY: Record = dict.fromkeys(_TYPES)
_OF_FIRST_CHUNK: Record = dict.fromkeys(("jsonld", "microdata", "opengraph"))
"""Columns that are long, and that only the first chunk of a page has."""


def schema_of(fields: Iterable[FieldColumn]) -> pa.Schema:
    """The columns of an export with these fields."""
    return pa.schema([*SCHEMA, *(pa.field(field.column, field.arrow) for field in fields)])


def gone_record(url: str, host: str, found_out_ms: int) -> Record:
    """The record that tells that a page is gone, or no longer to be exported."""
    return {
        **_EMPTY,
        "id": url,
        "url": url,
        "host": host,
        "text": "",
        "change": Change.GONE.value,
        "fetched_at": found_out_ms,
    }


def without_controls(text: str) -> str:
    """The text with blanks in place of characters that are no text, and that a terminal would
    obey; every place in it stays where it was."""
    return _CONTROL.sub(" ", text)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _modified(page: SourcePage) -> int | None:
    """When the page last changed: as its server says, if that is possible; else as the CrawlDb
    has noticed."""
    stated = page.headers.get("last-modified")
    if stated:
        try:
            moment = int(parsedate_to_datetime(stated).timestamp() * 1000)
        except (ValueError, OverflowError, TypeError, IndexError):
            moment = -1
        if 0 <= moment <= page.fetched_ms:
            return moment
    return page.modified_ms
