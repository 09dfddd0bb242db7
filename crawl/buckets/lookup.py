"""One URL's record from a CrawlDb of any size: one bucket, one row group."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from crawl.storage.folder import Folder
from crawl.storage.layout import bucket_of
from crawl.storage.manifest import Snapshot
from crawl.storage.parquet import open_table, read_groups
from crawl.urls.parse import host_of


def find_record(crawldb: Folder, snapshot: Snapshot, url: str) -> pa.Table | None:
    """The URL's row; None where the CrawlDb does not know it."""
    file = snapshot.file_of(bucket_of(host_of(url) or "", snapshot.buckets))
    if file is None:
        return None
    with open_table(crawldb, file.path) as source:
        for group in range(source.num_row_groups):
            if not _may_hold(source.metadata.row_group(group), url):
                continue
            urls = read_groups(source, [group], ["url"])["url"]
            row = pc.index(urls, pa.scalar(url)).as_py()
            if row >= 0:
                return read_groups(source, [group]).slice(row, 1)
    return None


def _may_hold(group: pa.parquet.RowGroupMetaData, url: str) -> bool:
    statistics = group.column(0).statistics
    if statistics is None or not statistics.has_min_max:
        return True
    wanted = url.encode()
    try:
        lowest, highest = statistics.min, statistics.max
    except UnicodeDecodeError:
        return True  # a damaged footer without a checksum: the rows tell
    # compared as bytes: the order in which the file is sorted
    return bool(lowest.encode() <= wanted <= highest.encode())
