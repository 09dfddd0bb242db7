"""Between CrawlDatum and Arrow: the one place that knows both forms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise, repeat
from typing import Any

import numpy as np
import pyarrow as pa

from crawl.model.datum import CrawlDatum
from crawl.model.status import Status
from crawl.model.tables import CRAWLDB, METADATA


def to_table(records: Iterable[tuple[str, str, CrawlDatum]]) -> pa.Table:
    """A CrawlDb table of (url, host, datum)."""
    urls: list[str] = []
    hosts: list[str] = []
    datums: list[CrawlDatum] = []
    for url, host, datum in records:
        urls.append(url)
        hosts.append(host)
        datums.append(datum)
    columns: list[list[Any]] = [
        urls,
        hosts,
        [int(datum.status) for datum in datums],
        [datum.fetch_time for datum in datums],
        [datum.modified_time or None for datum in datums],
        [datum.fetch_interval for datum in datums],
        [datum.retries for datum in datums],
        [datum.score for datum in datums],
        [datum.signature for datum in datums],
    ]
    arrays = [pa.array(column, _TYPES[place]) for place, column in enumerate(columns)]
    maps = map_column([datum.metadata for datum in datums])
    return pa.Table.from_arrays([*arrays, maps], schema=CRAWLDB.schema)


_TYPES = CRAWLDB.schema.types


def map_column(rows: Sequence[Mapping[str, str]]) -> pa.MapArray:
    """A column of maps; all keys and values in one go, for pairs one by one take thrice as
    long as the whole rest of a table."""
    offsets = np.zeros(len(rows) + 1, dtype=np.int32)
    np.cumsum([len(row) for row in rows], out=offsets[1:])
    keys = list(chain.from_iterable(rows))
    values = list(chain.from_iterable(row.values() for row in rows))
    return pa.MapArray.from_arrays(
        pa.array(offsets), pa.array(keys, pa.string()), pa.array(values, pa.string())
    ).cast(METADATA)


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
        dicts(batch["metadata"]),
        strict=True,
    )
    for url, status, due, modified, interval, retries, score, signature, metadata in rows:
        yield (
            url,
            CrawlDatum(
                _STATUSES[status],
                due,
                modified or 0,
                interval,
                retries,
                score,
                signature,
                metadata,
            ),
        )


_STATUSES = {status.value: status for status in Status}


def dicts(maps: pa.MapArray) -> Iterator[dict[str, str]]:
    """Each row's map; all keys and values are made in one go."""
    offsets = maps.offsets.to_pylist()
    first, last = offsets[0], offsets[-1]
    entries = list(
        zip(
            maps.keys.slice(first, last - first).to_pylist(),
            maps.items.slice(first, last - first).to_pylist(),
            strict=True,
        )
    )
    for begin, end in pairwise(offsets):
        yield dict(entries[begin - first : end - first])
