"""What parses say of pages, on its way to the slices of their URLs: samples of texts, headings and
titles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crawl.counters import Counters
from crawl.model.arrow import fill_null, with_all_columns
from crawl.phases.dedup.tasks.keys import Keys, host_numbers, schema_of
from crawl.phases.dedup.tasks.shingles import sample_texts
from crawl.phases.dedup.tasks.subjects import beginnings, heading_keys, packed_words, subject_keys
from crawl.storage.folder import Folder
from crawl.storage.parquet import each_group, open_table
from crawl.storage.segments import PARSE_DATA
from crawl.tables.exchange import Outbox, RowKind
from crawl.tables.slices import Router
from crawl.urls.hosts import hosts_of

SAMPLES = RowKind(
    "samples",
    schema_of(
        url=pa.string(),
        segment=pa.int32(),
        sample=pa.binary(),
        size=pa.int64(),
        heading=pa.uint64(),
        title=pa.binary(),
    ),
)
"""What a parse says of a page: its text or its title, which are in files of their own."""


@dataclass(frozen=True, slots=True)
class PartFile:
    """A file of a part of a segment; of what those of a part say of a URL that of the latest
    segment counts."""

    part: str
    folder: Folder
    path: str
    rows: int
    segment: int


def send_samples(router: Router, file: PartFile, outbox: Outbox) -> Counters:
    """Sends the sample of every text of a file, or every title, to the slice of its URL."""
    if file.part == PARSE_DATA:
        return _send_titles(router, file, outbox)
    counters = Counters()
    with open_table(file.folder, file.path) as source:
        for rows in each_group(source, ["url", "text", "main_text"]):
            urls = rows["url"].combine_chunks()
            coalesce: Any = pc.coalesce
            texts = coalesce(rows["main_text"], rows["text"])
            samples = sample_texts(texts.combine_chunks())
            has_words = np.diff(samples.offsets) > 0
            counters["texts_without_words"] += int((~has_words).sum())
            offsets = pa.array((4 * samples.offsets).astype(np.int32)).buffers()[1]
            values = pa.py_buffer(samples.values.tobytes())
            packed = pa.BinaryArray.from_buffers(pa.binary(), len(urls), [None, offsets, values])
            numbers = np.full(len(urls), file.segment, np.int32)
            headings = heading_keys(beginnings(texts))
            none = pa.nulls(len(urls), pa.binary())
            columns = [urls, numbers, packed, samples.sizes, headings, none]
            table = pa.table(columns, schema=SAMPLES.schema).filter(pa.array(has_words))
            send_to_slices(router, SAMPLES, table, outbox)
    return +counters


def _send_titles(router: Router, file: PartFile, outbox: Outbox) -> Counters:
    with open_table(file.folder, file.path) as source:
        for rows in each_group(source, ["url", "title"]):
            titles = packed_words(cast("list[str | None]", rows["title"].to_pylist()))
            numbers = pa.array(np.full(rows.num_rows, file.segment, np.int32))
            table = pa.table({"url": rows["url"], "segment": numbers, "title": titles})
            send_to_slices(router, SAMPLES, with_all_columns(table, SAMPLES.schema), outbox)
    return Counters()


def send_to_slices(router: Router, kind: RowKind, table: pa.Table, outbox: Outbox) -> None:
    """Sends rows to the slices of their URLs."""
    urls = table["url"].combine_chunks()
    hosts = fill_null(hosts_of(urls), "")
    outbox.send(kind, table, router.slices_of(hosts, urls))


@dataclass(frozen=True, slots=True)
class Subjects:
    """What pages are about by their titles, by URL."""

    urls: pa.Array[Any]
    keys: Keys

    @classmethod
    def of(cls, rows: pa.Table) -> Subjects:
        """By the latest titles among rows of `SAMPLES`."""
        titles = latest(rows.select(["url", "segment", "title"]).drop_null())
        urls = titles["url"].combine_chunks()
        packed = titles["title"].combine_chunks()
        return cls(urls, subject_keys(packed, host_numbers(fill_null(hosts_of(urls), ""))))

    def at(self, urls: pa.Array[Any] | pa.ChunkedArray[Any]) -> Keys:
        """Those of pages; 0 for one without a title of its own."""
        if not len(self.keys):
            return np.zeros(len(urls), np.uint64)
        indices: Any = pc.index_in(cast("Any", urls), value_set=self.urls)
        places = fill_null(indices, -1).to_numpy(zero_copy_only=False)
        return np.where(places < 0, np.uint64(0), self.keys[places])


def latest(rows: pa.Table) -> pa.Table:
    """One row a URL, by URL: that of the latest segment."""
    rows = rows.sort_by([("url", "ascending"), ("segment", "descending")]).combine_chunks()
    if rows.num_rows < 2:
        return rows
    urls = rows["url"].combine_chunks()
    other = pc.not_equal(urls.slice(1), urls.slice(0, len(urls) - 1))
    return rows.filter(pa.concat_arrays([pa.array([True]), cast("Any", other)]))
