"""The links to the pages of a shard, from the LinkDb; none where there is no LinkDb.

This is all that index knows of the LinkDb: the dataset of that name, bucketed by the target's
host, with the target as `url` and the columns that are named here.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import Any

import numpy as np
import pyarrow as pa

from crawl.model.arrow import as_array, fill_null
from crawl.phases.index.tasks.matching import matching_rows
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.folder import Folder
from crawl.storage.snapshot import Dataset

LINKDB = "linkdb"
FROM, ANCHOR = "from_url", "anchor"

INLINKS = pa.list_(pa.struct([pa.field("url", pa.string()), pa.field("anchor", pa.string())]))


@dataclass(frozen=True, slots=True)
class InlinkSource:
    """The LinkDb's files, as far as tasks need to know them."""

    folder: Folder
    buckets: int
    paths: tuple[tuple[int, str], ...]
    """Each file with its bucket."""
    most: int
    """Links of one page that are of interest."""

    @classmethod
    def of(cls, crawl_dir: CrawlDir, most: int) -> InlinkSource | None:
        """None where the crawl has no LinkDb, or nobody wants to see a link."""
        dataset = Dataset(crawl_dir.folder.child(LINKDB))
        snapshot = dataset.current() if most and dataset.is_begun() else None
        if snapshot is None:
            return None
        paths = tuple((file.bucket, file.path) for file in snapshot.files)
        return cls(dataset.folder, snapshot.buckets, paths, most)

    def inlinks(self, shard: int, shards: int, urls: pa.Array[Any]) -> pa.Array[Any]:
        """The links to each of the URLs, which are all of one shard and differ."""
        shared = gcd(shards, self.buckets)
        paths = [path for bucket, path in self.paths if bucket % shared == shard % shared]
        owners, tables = [np.zeros(0, dtype=np.int64)], []
        for links, places in matching_rows(self.folder, paths, urls, [FROM, ANCHOR]):
            owners.append(places)
            tables.append(links)
        return self._listed(np.concatenate(owners), tables, len(urls))

    def _listed(self, owners: Any, tables: list[pa.Table], count: int) -> pa.Array[Any]:
        if not tables:
            return pa.array([[]] * count, INLINKS)
        order = np.argsort(owners, kind="stable")
        owners = owners[order]
        starts = np.searchsorted(owners, owners, side="left")
        is_shown = np.arange(len(owners)) - starts < self.most
        links = pa.concat_tables(tables).take(order[is_shown])
        sizes = np.bincount(owners[is_shown], minlength=count)
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
        anchors = fill_null(as_array(links[ANCHOR]), "")
        values = pa.StructArray.from_arrays(
            [as_array(links[FROM]), anchors], fields=list(INLINKS.value_type)
        )
        from_arrays: Any = pa.ListArray.from_arrays  # the stubs know no array of structs
        listed: pa.Array[Any] = from_arrays(pa.array(offsets), values).cast(INLINKS)
        return listed
