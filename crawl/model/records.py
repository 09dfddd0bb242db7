"""Between CrawlDatum and Arrow: the one place that knows both forms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise, repeat
from typing import Any, cast

import pyarrow as pa

from crawl.model.builders import MapBuilder, columns
from crawl.model.datum import CrawlDatum
from crawl.model.status import Status
from crawl.model.tables import CRAWLDB


class RecordTableBuilder:
    """A CrawlDb table that grows."""

    def __init__(self) -> None:
        self._rows: list[tuple[Any, ...]] = []
        self._metadata = MapBuilder()

    def add(self, url: str, host: str, datum: CrawlDatum) -> None:
        self._rows.append(
            (
                url,
                host,
                datum.status,
                datum.fetch_time,
                datum.modified_time or None,
                datum.fetch_interval,
                datum.retries,
                datum.score,
                datum.signature,
            )
        )
        self._metadata.add(datum.metadata)

    def table(self) -> pa.Table:
        arrays = [*columns(self._rows, _TYPES), self._metadata.array()]
        return pa.Table.from_arrays(arrays, schema=_SCHEMA)


_SCHEMA = CRAWLDB.schema
_TYPES = _SCHEMA.types[:-1]


def to_table(records: Iterable[tuple[str, str, CrawlDatum]]) -> pa.Table:
    """A CrawlDb table of (url, host, datum)."""
    builder = RecordTableBuilder()
    for url, host, datum in records:
        builder.add(url, host, datum)
    return builder.table()


def to_records(table: pa.Table) -> Iterator[tuple[str, CrawlDatum]]:
    """The (url, datum) pairs of a CrawlDb table; `url` is empty and `signature` None where
    they were not read."""
    # whole columns as lists, for a value asked for by itself costs five times as much; a
    # few rows at a time, for those lists are far larger than the table
    for batch in table.to_batches(max_chunksize=_ROWS_AT_ONCE):
        yield from _batch_records(batch)


_ROWS_AT_ONCE = 2048


def _batch_records(batch: pa.RecordBatch) -> Iterator[tuple[str, CrawlDatum]]:
    whole = batch.num_rows
    names = set(batch.schema.names)
    rows = zip(
        batch["url"].to_pylist() if "url" in names else repeat("", whole),
        batch["status"].to_pylist(),
        batch["fetch_time"].cast(pa.int64()).to_pylist(),
        batch["modified_time"].cast(pa.int64()).to_pylist(),
        batch["fetch_interval"].to_pylist(),
        batch["retries"].to_pylist(),
        batch["score"].to_pylist(),
        batch["signature"].to_pylist() if "signature" in names else repeat(None, whole),
        dicts(cast("pa.MapArray[Any, Any]", batch["metadata"])),
        strict=True,
    )
    for url, status, due, modified, interval, retries, score, signature, metadata in rows:
        yield (
            url,
            CrawlDatum(
                _STATUSES[status], due, modified or 0, interval, retries, score, signature, metadata
            ),
        )


_STATUSES = {status.value: status for status in Status}


def dicts(maps: pa.MapArray[Any, Any]) -> Iterator[dict[str, str]]:
    """Each row's map; all keys and values are made in one go."""
    offsets: list[Any] = maps.offsets.to_pylist()
    first, last = offsets[0], offsets[-1]
    entries: list[Any] = list(
        zip(
            maps.keys.slice(first, last - first).to_pylist(),
            maps.items.slice(first, last - first).to_pylist(),
            strict=True,
        )
    )
    for begin, end in pairwise(offsets):
        yield dict(entries[begin - first : end - first])
