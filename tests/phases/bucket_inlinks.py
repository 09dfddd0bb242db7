"""The inlinks of every URL of a bucket in their order, for tests that go through the LinkDb bucket
by bucket: it has the CrawlDb's buckets, and within them the same order of URLs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crawl.errors import UsageError
from crawl.model.arrow import as_array, as_mask, fill_null, required_schema
from crawl.model.derived_tables import LINKDB
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.folder import Folder
from crawl.storage.layout import buckets_of, distinct
from crawl.storage.manifest import Snapshot
from crawl.tables.bucket_files import stored_groups
from crawl.tables.merge import repeats_before
from crawl.urls.hosts import hosts_of

INLINK = pa.struct(
    required_schema({"from_url": pa.string(), "anchor": pa.string(), "score": pa.float32()})
)
INLINKS = required_schema({"url": pa.string(), "inlinks": pa.list_(INLINK)})
"""A URL and all that links to it."""

_COLUMNS = ["url", "host", "from_url", "anchor", "score"]


@dataclass(frozen=True, slots=True)
class StoredInlinks:
    """One state of the LinkDb."""

    folder: Folder
    snapshot: Snapshot

    @classmethod
    def current(cls, crawl_dir: CrawlDir) -> StoredInlinks | None:
        """The LinkDb's current state; None where there is none yet."""
        dataset = crawl_dir.dataset(LINKDB)
        snapshot = dataset.current()
        return None if snapshot is None else cls(dataset.folder, snapshot)

    def check_buckets(self, buckets: int) -> None:
        """Raises UsageError where the LinkDb cannot be read beside a CrawlDb of so many buckets."""
        if buckets % self.snapshot.buckets:
            raise UsageError(
                f"{self.folder.address} has {self.snapshot.buckets} buckets and the CrawlDb"
                f" {buckets}, which is no multiple: delete the LinkDb and invert the links anew"
            )

    def of_bucket(
        self, bucket: int, buckets: int, first: str | None = None, end: str | None = None
    ) -> Iterator[pa.Table]:
        """Tables of `INLINKS` with each URL of a bucket, of `buckets` in all, that anything links
        to: once, in the order of the CrawlDb's files. Only URLs from `first` on and below `end`,
        where they are given (`Slice.first`, `Slice.end`)."""
        self.check_buckets(buckets)
        waiting = LINKDB.schema.empty_table().select(_COLUMNS)
        for rows in self._rows(bucket, buckets, first, end):
            rows = pa.concat_tables([waiting, rows])
            starts = np.flatnonzero(np.append(True, ~repeats_before(rows, ["url"])))
            # the last URL may have further links in the next row group
            last = int(starts[-1])
            if last:
                yield _grouped(rows.slice(0, last), starts[:-1])
            waiting = rows.slice(last)
        if waiting.num_rows:
            yield _grouped(waiting, np.zeros(1, np.int64))

    def _rows(
        self, bucket: int, buckets: int, first: str | None, end: str | None
    ) -> Iterator[pa.Table]:
        files = self.snapshot.files_of(bucket % self.snapshot.buckets)
        firsts = [*(file.first or "" for file in files[1:]), None]
        stored = [
            file
            for file, behind in zip(files, firsts, strict=True)
            if _is_below(file.first or "", end) and not _is_below_or_at(behind, first)
        ]
        for rows in stored_groups(self.folder, stored, _COLUMNS):
            if buckets != self.snapshot.buckets:
                rows = rows.filter(pa.array(buckets_of(rows["host"], buckets) == bucket))
            if first is not None:
                rows = rows.filter(pc.greater_equal(rows["url"], pa.scalar(first)))
            if end is not None:
                rows = rows.filter(pc.less(rows["url"], pa.scalar(end)))
            if rows.num_rows:
                yield rows


def anchors_of(inlinks: pa.Table) -> pa.Array[Any]:
    """For each row of `INLINKS` the texts that describe the URL, as Nutch gives them to an index:
    those that are not empty, each once for every linking host, in the order of the pages."""
    lists = cast("pa.ListArray[Any]", as_array(inlinks["inlinks"]))
    links = cast("pa.StructArray", lists.flatten())
    owners = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False)
    anchors = links.field("anchor")
    hosts = fill_null(hosts_of(links.field("from_url")), "")
    keys = np.stack([owners.astype(np.int64), distinct(hosts)[1], distinct(anchors)[1]])
    _, firsts = np.unique(keys, axis=1, return_index=True)
    is_first = np.zeros(len(anchors), np.bool_)
    is_first[firsts] = True
    is_text = is_first & as_mask(pc.not_equal(anchors, pa.scalar("")))
    counts = np.bincount(owners[is_text], minlength=len(lists))
    offsets = np.append(0, np.cumsum(counts)).astype(np.int32)
    texts = anchors.filter(pa.array(is_text))
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), texts)


def _grouped(rows: pa.Table, starts: np.ndarray[Any, np.dtype[np.int64]]) -> pa.Table:
    """Rows in order, as one row a URL."""
    links = pa.StructArray.from_arrays(
        [as_array(rows[field.name]) for field in INLINK], fields=list(INLINK)
    )
    offsets = np.append(starts, rows.num_rows).astype(np.int32)
    lists = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), links).cast(
        INLINKS.field("inlinks").type
    )
    return pa.Table.from_arrays([as_array(rows["url"]).take(starts), lists], schema=INLINKS)


def _is_below(value: str, end: str | None) -> bool:
    return end is None or value.encode() < end.encode()


def _is_below_or_at(value: str | None, first: str | None) -> bool:
    return value is not None and first is not None and value.encode() <= first.encode()
