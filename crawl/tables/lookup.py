"""The rows of one key from a table of any size: one file, one row group."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from crawl.model.table import Table
from crawl.model.tables import CRAWLDB
from crawl.storage.folder import Folder
from crawl.storage.layout import bucket_of
from crawl.storage.manifest import Snapshot
from crawl.storage.parquet import open_table, read_groups
from crawl.urls.parse import host_of


def find_record(crawldb: Folder, snapshot: Snapshot, url: str) -> pa.Table | None:
    """The URL's row; None where the CrawlDb does not know it."""
    return find_rows(CRAWLDB, crawldb, snapshot, url)


def find_rows(table: Table, folder: Folder, snapshot: Snapshot, value: str) -> pa.Table | None:
    """The rows whose first key column has that value; None where there is none."""
    column = table.key[0]
    place = value if column == table.bucket_by else host_of(value) or ""
    file = snapshot.file_for(bucket_of(place, snapshot.buckets), value)
    if file is None:
        return None
    is_unique = len(table.key) == 1
    matches: list[pa.Table] = []
    with open_table(folder, file.path, size=file.bytes) as source:
        leaves = source.metadata.schema
        position = next(at for at in range(len(leaves)) if leaves.column(at).path == column)
        for group in range(source.num_row_groups):
            if not may_hold(source.metadata.row_group(group).column(position), value):
                continue
            values = read_groups(source, [group], [column])[column]
            first = pc.index(values, pa.scalar(value)).as_py()
            if first < 0:
                continue
            rows = read_groups(source, [group])
            if is_unique:
                return rows.slice(first, 1)
            matches.append(rows.filter(pc.equal(values, pa.scalar(value))))
    return pa.concat_tables(matches) if matches else None


def may_hold(column: pq.ColumnChunkMetaData, value: str) -> bool:
    """Whether a row group may have the value, by the least and greatest of the column."""
    statistics = column.statistics
    if statistics is None or not statistics.has_min_max:
        return True
    encoded = value.encode()
    try:
        lowest, highest = statistics.min, statistics.max
    except UnicodeDecodeError:
        return True  # a damaged footer without a checksum: the rows tell
    if not isinstance(lowest, str) or not isinstance(highest, str):
        return True
    # compared as bytes: the order in which the file is sorted
    return lowest.encode() <= encoded <= highest.encode()
