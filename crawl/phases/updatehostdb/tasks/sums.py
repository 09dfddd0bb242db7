"""Sums for hosts as they travel to where a bucket is settled, and how a file's rows become them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from crawl.model.derived_tables import HOSTDB
from crawl.model.table import TIMESTAMP
from crawl.model.tables import SITEMAPS
from crawl.storage.folder import Folder
from crawl.storage.layout import buckets_of, distinct
from crawl.tables.exchange import Outbox, RowKind

Integers = npt.NDArray[np.int64]

STATUS_COLUMNS = (
    *("unfetched", "fetched", "gone", "redir_temp", "redir_perm", "not_modified"),
    *("duplicate", "orphan", "parse_failed"),
)
"""The counts of the CrawlDb's statuses, by their codes from 1 on."""


def _kind(name: str, columns: dict[str, pa.DataType]) -> RowKind:
    return RowKind(name, pa.schema({"host": pa.string(), **columns}))


RECORDS = _kind(
    "records",
    {
        "urls": pa.int64(),
        **dict.fromkeys(STATUS_COLUMNS, pa.int64()),
        "connection_failures": pa.int64(),
        "pages": pa.int64(),
        "distinct_pages": pa.int64(),
        "homepage_rank": pa.int8(),
        "homepage": pa.string(),
    },
)
"""What a file of the CrawlDb says of a host. `distinct_pages` counts only where the file is all
of its bucket; else there are SIGNATURES."""

SIGNATURES = _kind("signatures", {"signature": pa.uint64()})
"""Numbers of a host's signatures, the smallest of them, from a bucket of several files."""

REQUEST_COUNTS = (
    *("requests", "answered", "succeeded", "unchanged", "redirected", "refused", "failed"),
    *("dns_failures", "robots_denied", "response_ms_total"),
)
_MOMENTS = ("first", "last_fetched", "last_seen", "unresolved_at")
REQUESTS = _kind(
    "requests", dict.fromkeys((*REQUEST_COUNTS, "response_ms_max", *_MOMENTS), pa.int64())
)
"""What a file of a fetch says of a host; moments are milliseconds, 0 for never."""

CONTENTS = _kind("contents", {"contents": pa.int64(), "bytes": pa.int64(), "size_max": pa.int64()})

RESPONSE_MS, SIZE = 0, 1
BINS = _kind("bins", {"of": pa.int8(), "bin": pa.int16(), "count": pa.int64()})
"""Parts of sketches (crawl/model/sketches.py): of response times, or of sizes."""

ROBOTS_STATE = _kind(
    "robots_state",
    {
        "asked_at": TIMESTAMP,
        "code": pa.int32(),
        "sitemaps": pa.int32(),
        "crawl_delay_s": pa.float64(),
    },
)
SITEMAP_STATE = RowKind("sitemap_state", SITEMAPS.schema)
CRAWL_DELAYS = _kind("crawl_delays", {"crawl_delay_s": pa.float64()})

BASE = RowKind("base", HOSTDB.schema)
"""Rows of the HostDb of before, where it has another number of buckets."""


@dataclass(frozen=True, slots=True)
class HostsFile:
    """A file that tells of hosts."""

    table: str
    """The name of its table, or of the part of a segment."""
    folder: Folder
    path: str
    rows: int


class ByHost:
    """Rows by the number of their host."""

    def __init__(self, hosts: pa.ChunkedArray[Any] | pa.Array[Any]) -> None:
        names, self.codes = distinct(hosts)
        self.names: pa.Array[Any] = names.cast(pa.string())

    def count(self, mask: npt.NDArray[np.bool_] | None = None) -> Integers:
        """Rows of each host, or those of the mask."""
        codes = self.codes if mask is None else self.codes[mask]
        return np.bincount(codes, minlength=len(self.names)).astype(np.int64)

    def sum(self, values: Integers) -> Integers:
        totals = np.zeros(len(self.names), dtype=np.int64)
        np.add.at(totals, self.codes, values)
        return totals

    def greatest(self, values: Integers, mask: npt.NDArray[np.bool_] | None = None) -> Integers:
        """The greatest value of each host, 0 where it has none."""
        maxima = np.zeros(len(self.names), dtype=np.int64)
        rows = slice(None) if mask is None else mask
        np.maximum.at(maxima, self.codes[rows], values[rows])
        return maxima


def send_by_host(kind: RowKind, columns: dict[str, Any], buckets: int, outbox: Outbox) -> None:
    """Sends rows about hosts, as arrays by name, to their buckets."""
    rows = table_of(kind, columns)
    outbox.send(kind, rows, buckets_of(rows["host"], buckets))


def table_of(kind: RowKind, columns: dict[str, Any]) -> pa.Table:
    """A table of the kind from arrays by name."""
    return pa.table(
        [pa.array(columns[field.name], field.type) for field in kind.schema], schema=kind.schema
    )
