"""indexwriter parquet: a row a document, one file a shard.

The columns are the same whatever the documents: `url`, `version`, `boost`, those that `columns`
names as texts, and a map `fields` with all others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, ClassVar, cast

import pyarrow as pa
import pyarrow.parquet as pq

from crawl.config import Config
from crawl.errors import ConfigError, StorageError
from crawl.hints import index_anew
from crawl.interfaces.indexwriter import NO_PARAMETERS, Shard
from crawl.model.builders import table_of_rows
from crawl.model.documents import IndexDocument
from crawl.plugins.indexwriter.shared.file_writer import FileIndexWriter, FileShard
from crawl.storage.parquet import TableWriter

_COLUMNS = ("host", "title", "content", "lang", "type", "tstamp")
_OWN = ("url", "version", "boost", "fields")
_GROUP_ROWS = 1024


class ParquetIndexWriter(FileIndexWriter):
    """Parameters: `path`, `columns` (host, title, content, lang, type, tstamp)."""

    own_parameters: ClassVar[tuple[str, ...]] = ("columns",)

    def __init__(self, config: Config, parameters: Mapping[str, Any] = NO_PARAMETERS) -> None:
        super().__init__(config, parameters)
        self._columns = self._parameters.names("columns", _COLUMNS)
        wrong = next((name for name in self._columns if name in _OWN), None)
        if wrong or len(set(self._columns)) < len(self._columns):
            raise ConfigError(f"columns: {wrong or 'a name'!r} is there already")

    def open(self, shard: Shard) -> _ParquetShard:
        return _ParquetShard(shard, self._columns)


class _ParquetShard(FileShard):
    def __init__(self, shard: Shard, names: tuple[str, ...]) -> None:
        self._columns = names
        fields: list[pa.Field[Any]] = [
            pa.field("url", pa.string(), False),
            pa.field("version", pa.timestamp("ms", "UTC"), False),
            pa.field("boost", pa.float64(), False),
            *(pa.field(name, pa.string()) for name in names),
            pa.field("fields", pa.map_(pa.string(), pa.list_(pa.string()))),
        ]
        self._schema = pa.schema(fields)
        super().__init__(shard, ".parquet")
        self._groups = self._read_groups()
        self._rest: pa.Table = self._schema.empty_table()
        self._rows: list[tuple[Any, ...]] = []
        self._sink = pq.ParquetWriter(
            cast("Any", self._new), self._schema, compression="zstd", compression_level=3
        )
        self._writer = TableWriter(self._sink, _GROUP_ROWS)

    def _read_groups(self) -> Iterator[pa.Table]:
        if self._old is None:
            return
        name = self._base
        try:
            source = pq.ParquetFile(self._old)
            if not source.schema_arrow.equals(self._schema):
                raise StorageError(
                    f"{name} has other columns than the writer's `columns`: {index_anew()}"
                )
            for group in range(source.num_row_groups):
                yield source.read_row_group(group, use_threads=False)
        except (pa.ArrowException, OSError) as error:
            line = " ".join(str(error).split())
            raise StorageError(
                f"{name} is no whole Parquet file: {line}: {index_anew()}"
            ) from error

    def _take(self, count: int) -> Iterator[pa.Table]:
        """The next rows of the present file."""
        while count:
            if not self._rest.num_rows:
                rows = next(self._groups, None)
                if rows is None:
                    raise StorageError(
                        f"{self._base} has fewer rows than the ledger says: {index_anew()}"
                    )
                self._rest = rows
            here = min(count, self._rest.num_rows)
            yield self._rest.slice(0, here)
            self._rest = self._rest.slice(here)
            count -= here

    def keep(self, count: int) -> None:
        self._gather()
        for rows in self._take(count):
            self._writer.write(rows)

    def add(self, document: IndexDocument, *, replaces: bool) -> None:
        if replaces:
            self.delete(document.url, document.version)
        own = [document.texts(name) for name in self._columns]
        others = [
            (name, document.texts(name)) for name in document.fields if name not in self._columns
        ]
        texts = [", ".join(values) if values else None for values in own]
        self._rows.append((document.url, document.version, document.boost, *texts, others))
        if len(self._rows) >= _GROUP_ROWS:
            self._gather()

    def delete(self, url: str, version: int) -> None:
        for _ in self._take(1):
            pass

    def _gather(self) -> None:
        if self._rows:
            rows, self._rows = self._rows, []
            self._writer.write(table_of_rows(rows, self._schema))

    def close(self) -> str:
        if self._rest.num_rows or any(rows.num_rows for rows in self._groups):
            raise StorageError(f"{self._base} has more rows than the ledger says: {index_anew()}")
        self._gather()
        self._writer.end_group()
        self._sink.close()
        return super().close()

    def abort(self) -> None:
        with suppress(Exception):  # or it writes its footer when it is collected
            self._sink.close()
        super().abort()
