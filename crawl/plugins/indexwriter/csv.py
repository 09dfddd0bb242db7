"""indexwriter csv: a line a document (RFC 4180), one file a shard, with chosen fields as columns.

Values that begin like a formula are written as they are: spreadsheets are not the only readers;
`escape_formulas` puts a `'` before them. Line breaks within values are blanks, so that a line is
a record for every tool; other control characters are escaped (`\\x1b`), as terminals obey them.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import Any, ClassVar

from crawl.config import Config
from crawl.errors import ConfigError, StorageError
from crawl.hints import index_anew
from crawl.interfaces.indexwriter import NO_PARAMETERS, Shard
from crawl.model.documents import IndexDocument
from crawl.plugins.indexwriter.shared.file_writer import FileIndexWriter, LineShard
from crawl.printable import is_formula, without_controls

_FIELDS = ("id", "title", "content")
"""Nutch's default."""


class CsvIndexWriter(FileIndexWriter):
    """Parameters: `path`, `fields` (id, title, content), `separator`, `value_separator`,
    `header` (true), `max_field_length` (0: any), `escape_formulas` (false)."""

    own_parameters: ClassVar[tuple[str, ...]] = (
        *("fields", "separator", "value_separator", "header", "max_field_length"),
        "escape_formulas",
    )

    def __init__(self, config: Config, parameters: Mapping[str, Any] = NO_PARAMETERS) -> None:
        super().__init__(config, parameters)
        options = self._parameters
        self.fields = options.names("fields", _FIELDS)
        self.separator = options.text("separator", ",")
        if len(self.separator) != 1 or self.separator in '"\r\n':
            raise ConfigError(f"separator: expected one character, got {self.separator!r}")
        if not self.fields:
            raise ConfigError("fields: there is none")
        self.value_separator = options.text("value_separator", "|")
        self.header = options.flag("header", default=True)
        self.longest = options.whole("max_field_length", 0)
        self.escapes = options.flag("escape_formulas", default=False)

    def open(self, shard: Shard) -> _CsvShard:
        return _CsvShard(shard, self)

    def line(self, values: list[str]) -> bytes:
        """A record."""
        text = io.StringIO()
        csv.writer(text, delimiter=self.separator, lineterminator="\n").writerow(values)
        return text.getvalue().encode("utf-8", "replace")

    def values(self, document: IndexDocument) -> list[str]:
        texts = []
        for name in self.fields:
            text = self.value_separator.join(document.texts(name))
            text = without_controls(" ".join(text.splitlines()))
            if self.longest:
                text = text[: self.longest]
            if self.escapes and is_formula(text):
                text = f"'{text}"
            texts.append(text)
        return texts


class _CsvShard(LineShard):
    def __init__(self, shard: Shard, writer: CsvIndexWriter) -> None:
        super().__init__(shard, ".csv")
        self._writer = writer
        if writer.header:
            head = writer.line(list(writer.fields))
            self._new.write(head)
            if self._old is not None and self._old.readline() != head:
                self.abort()
                raise StorageError(
                    f"{shard.base} has other columns than the writer's `fields`: {index_anew()}"
                )

    def _line_of(self, document: IndexDocument) -> bytes:
        return self._writer.line(self._writer.values(document))
