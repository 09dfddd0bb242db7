"""A file of the CrawlDb written for others to read: Parquet, CSV, JSON lines or text.

CSV columns and JSON keys are those of Nutch's readdb, so that scripts carry over. Parquet and
JSON keep every value. CSV and text are for people: what servers said is escaped for terminals,
and a CSV cell that a spreadsheet would run as a formula gets an apostrophe.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crawl.clock import moment
from crawl.model.datum import CrawlDatum
from crawl.model.dump_format import DumpFormat
from crawl.model.records import to_records
from crawl.model.status import Status
from crawl.model.tables import CRAWLDB
from crawl.printable import csv_cell, json_text, printable
from crawl.storage.folder import Folder
from crawl.tables.dump_files import csv_line, write_dump
from crawl.tables.exchange import Received
from crawl.tables.matching import matching_groups
from crawl.tables.slices import Slice


@dataclass(frozen=True, slots=True)
class RecordFilter:
    """Which records to dump; every condition that is set must hold."""

    status: Status | None = None
    regex: str | None = None
    """Must match the whole URL."""
    min_retries: int | None = None
    sample: float | None = None
    """A share of the records, chosen by chance."""
    seed: int = 0

    def of(self, rows: pa.Table, group: int, base: Slice) -> pa.Table:
        mask = np.ones(rows.num_rows, dtype=bool)
        if self.status is not None:
            mask &= rows["status"].to_numpy() == int(self.status)
        if self.min_retries is not None:
            mask &= rows["retries"].to_numpy() >= self.min_retries
        if self.sample is not None:
            place = [base.place] if base.place else []
            chance = np.random.default_rng([self.seed, base.bucket, group, *place])
            mask &= chance.random(rows.num_rows) < self.sample
        if self.regex is not None:
            matched = pc.match_substring_regex(rows["url"], f"^(?:{self.regex})$")
            mask &= matched.to_numpy()
        return rows.filter(pa.array(mask))


@dataclass(frozen=True, slots=True)
class DumpJob:
    """A dump of the CrawlDb: where it goes, in which form, and which records it has."""

    crawldb: Folder
    output: Folder
    format: DumpFormat
    records: RecordFilter
    has_expr: bool = False
    """Whether only those rows are wanted whose numbers are received."""


def dump_slice(job: DumpJob, base: Slice, received: Received) -> int:
    """Writes the slice's wanted records; returns how many."""
    groups = matching_groups(job.crawldb, base, received if job.has_expr else None)
    tables = (job.records.of(rows, number, base) for number, rows in enumerate(groups))
    rendered = partial(_rendered, job.format)
    return write_dump(job.output, job.format, base, tables, CSV_COLUMNS, rendered, CRAWLDB.schema)


CSV_COLUMNS = [
    *("Url", "Status code", "Status name", "Fetch Time", "Modified Time", "Retries since fetch"),
    *("Retry interval seconds", "Retry interval days", "Score", "Signature", "Metadata"),
]


def _rendered(form: DumpFormat, tables: Iterable[pa.Table]) -> Iterator[bytes]:
    render = _RENDER[form]
    for table in tables:
        yield b"".join(render(url, datum) for url, datum in to_records(table))


def _as_csv(url: str, datum: CrawlDatum) -> bytes:
    record = as_record(url, datum)
    record["metadata"] = "|||".join(f"{key}:{value}" for key, value in datum.metadata.items())
    cells = (csv_cell(value) if isinstance(value, str) else value for value in record.values())
    return csv_line(cells)


def _as_json(url: str, datum: CrawlDatum) -> bytes:
    return json_text(as_record(url, datum)).encode() + b"\n"


def as_record(url: str, datum: CrawlDatum) -> dict[str, Any]:
    """A record under Nutch's JSON keys."""
    return {
        "url": url,
        "statusCode": int(datum.status),
        "statusName": datum.status.label,
        "fetchTime": moment(datum.fetch_time),
        "modifiedTime": moment(datum.modified_time) if datum.modified_time else None,
        "retriesSinceFetch": datum.retries,
        "retryIntervalSeconds": datum.fetch_interval,
        "retryIntervalDays": round(datum.fetch_interval / 86_400, 3),
        "score": datum.score,
        "signature": datum.signature.hex() if datum.signature else None,
        "metadata": dict(datum.metadata),
    }


def record_paragraph(record: Mapping[str, Any]) -> str:
    """A record under Nutch's JSON keys for people to read; what came from outside is escaped."""
    days = record["retryIntervalSeconds"] / 86_400
    lines = [
        printable(record["url"]),
        f"  status          {record['statusCode']} ({record['statusName']})",
        f"  fetch time      {record['fetchTime']}",
        f"  modified time   {record['modifiedTime'] or 'unknown'}",
        f"  retries         {record['retriesSinceFetch']}",
        f"  fetch interval  {record['retryIntervalSeconds']} s ({days:.1f} d)",
        f"  score           {record['score']:g}",
        f"  signature       {record['signature'] or 'none'}",
    ]
    lines += [
        printable(f"  metadata        {key} = {value}") for key, value in record["metadata"].items()
    ]
    return "\n".join(lines)


def _as_text(url: str, datum: CrawlDatum) -> bytes:
    return (record_paragraph(as_record(url, datum)) + "\n\n").encode()


_RENDER: dict[DumpFormat, Callable[[str, CrawlDatum], bytes]] = {
    DumpFormat.CSV: _as_csv,
    DumpFormat.JSON: _as_json,
    DumpFormat.TEXT: _as_text,
}
