"""A table that the crawl does not have: the pages that link to each URL. It shows that any
table can be written, merged and published like the CrawlDb."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.driver.merge_table import merge_table
from crawl.model.arrow import as_mask, equals
from crawl.model.report import Report
from crawl.model.table import Column, Table
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.layout import bucket_of
from crawl.storage.parquet import each_group, open_table
from crawl.tables.bucket_files import BucketTarget
from crawl.tables.exchange import Outbox
from crawl.tables.merge import KeyGroups
from crawl.tables.runner import InProcess
from crawl.tables.slices import Router, Slices
from crawl.tables.table_merge import MergeJob, send_delta
from crawl.urls.parse import host_of

LINKS = Table(
    "links",
    (
        Column("url", pa.string(), "the page that is linked to; the key"),
        Column("host", pa.string(), "its host; decides the bucket"),
        Column("inlinks", pa.list_(pa.string()), "the pages that link to it"),
    ),
    key=("url",),
    bucket_by="host",
)
BUCKETS = 3
FILE_ROWS = 3
"""So that buckets have several files."""


def links_table(pairs: Iterable[tuple[str, str]]) -> pa.Table:
    """Rows of (URL, page that links to it) in any order, URLs as often as may be."""
    rows = [{"url": url, "host": host_of(url) or "", "inlinks": [page]} for url, page in pairs]
    return pa.Table.from_pylist(rows, schema=LINKS.schema)


def joined(groups: KeyGroups) -> pa.Table:
    """One row a URL with the inlinks of all its rows; a URL that `-` links to is forgotten."""
    lists = cast("pa.ListArray[Any]", groups.rows["inlinks"].combine_chunks())
    sizes = np.add.reduceat(pc.list_value_length(lists).to_numpy(), groups.starts)
    offsets = np.append(0, np.cumsum(sizes)).astype(np.int32)
    column = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), lists.flatten())
    rows = groups.first().set_column(2, LINKS.schema.field("inlinks"), column)
    marks = np.add.reduceat(as_mask(equals(lists.flatten(), "-")), offsets[:-1], dtype=np.int64)
    return rows.filter(pa.array(marks == 0))


def _send_links(router: Router, pairs: list[tuple[str, str]], outbox: Outbox) -> None:
    send_delta(LINKS, links_table(pairs), router, outbox)


def add_links(address: str, pairs: Iterable[tuple[str, str]], keep: int = 2) -> None:
    """Merges the links into the table and publishes it."""
    directory = CrawlDir(address)
    config, clock = Config(), SystemClock()
    dataset = directory.dataset(LINKS)
    with directory.writing(dataset, "links", config, clock) as transaction:
        target = BucketTarget(
            LINKS, transaction.folder, transaction.place, group_rows=4, file_rows=FILE_ROWS
        )
        pairs = list(pairs)
        slices = Slices.to_write(transaction.base, BUCKETS, FILE_ROWS)
        sent = InProcess().exchange(
            partial(_send_links, slices.router),
            [pairs[0::2], pairs[1::2]],
            len(slices),
            "links: send",
        )
        files = merge_table(sent, MergeJob(target, joined), slices, "links: merge")
        report = Report("links", clock.now_ms(), config.digest())
        transaction.publish(files, report, buckets=BUCKETS, keep=keep)


def links_of(directory: CrawlDir) -> dict[str, set[str]]:
    """All that the table holds now; also checks what every snapshot promises."""
    dataset = directory.dataset(LINKS)
    snapshot = dataset.current()
    found: dict[str, set[str]] = {}
    for file in snapshot.files if snapshot else ():
        with open_table(dataset.folder, file.path) as source:
            rows = pa.concat_tables(each_group(source)).to_pylist()
        urls = [row["url"] for row in rows]
        assert urls == sorted(set(urls), key=str.encode), "a bucket is sorted and unique"
        assert len(urls) == file.rows > 0
        assert {bucket_of(row["host"], BUCKETS) for row in rows} == {file.bucket}
        found.update({row["url"]: set(row["inlinks"]) for row in rows})
    return found
