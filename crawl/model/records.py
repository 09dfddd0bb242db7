"""Between CrawlDatum and Arrow: the one place that knows both forms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from crawl.model.datum import CrawlDatum
from crawl.model.status import Status
from crawl.model.tables import CRAWLDB


def to_table(records: Iterable[tuple[str, str, CrawlDatum]]) -> pa.Table:
    """A CrawlDb table of (url, host, datum)."""
    columns: list[list[Any]] = [[] for _ in CRAWLDB.columns]
    for url, host, datum in records:
        values = (
            url,
            host,
            int(datum.status),
            datum.fetch_time,
            datum.modified_time or None,
            datum.fetch_interval,
            datum.retries,
            datum.score,
            datum.signature,
            list(datum.metadata.items()),
        )
        for column, value in zip(columns, values, strict=True):
            column.append(value)
    arrays = [
        pa.array(column, field.type) for column, field in zip(columns, CRAWLDB.schema, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=CRAWLDB.schema)


def to_records(table: pa.Table) -> Iterator[tuple[str, CrawlDatum]]:
    """The (url, datum) pairs of a CrawlDb table; `url` is empty and `signature` None where
    they were not read."""
    whole = table.num_rows
    columns = {name: table[name] for name in table.column_names}
    urls = columns["url"] if "url" in columns else pa.repeat("", whole)
    signatures = columns.get("signature", pa.nulls(whole, pa.binary()))
    times = {name: columns[name].cast(pa.int64()) for name in ("fetch_time", "modified_time")}
    for row in range(whole):
        yield (
            urls[row].as_py(),
            CrawlDatum(
                status=Status(columns["status"][row].as_py()),
                fetch_time=times["fetch_time"][row].as_py(),
                modified_time=times["modified_time"][row].as_py() or 0,
                fetch_interval=columns["fetch_interval"][row].as_py(),
                retries=columns["retries"][row].as_py(),
                score=columns["score"][row].as_py(),
                signature=signatures[row].as_py(),
                metadata=dict(columns["metadata"][row].as_py()),
            ),
        )
