"""Merges new rows into a sorted table as a stream: the heart of every CrawlDb writer.

The base comes as row groups in order of URL, the new rows are sorted and unique. Row
groups that no new row falls into pass through untouched; memory is one row group and
the new rows, however long the base is.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crawl.model.tables import CRAWLDB
from crawl.storage.folder import Folder, attempt_name
from crawl.storage.manifest import BucketFile
from crawl.storage.parquet import open_writer

Combine = Callable[[pa.Table, pa.Table], pa.Table]
"""(old rows, new rows) of the same URLs, row by row → the rows to store."""


def merge_sorted(base: Iterable[pa.Table], new: pa.Table, combine: Combine) -> Iterator[pa.Table]:
    """The union, sorted by URL; `combine` decides where both have a URL."""
    done = 0
    urls = new["url"]
    for group in base:
        if group.num_rows == 0:
            continue
        last = group["url"][-1].as_py().encode()
        upto = bisect_right(urls, last, lo=done, key=lambda url: url.as_py().encode())
        if upto == done:
            yield group
        else:
            yield _merge_group(group, new.slice(done, upto - done), combine)
        done = upto
    if done < new.num_rows:
        yield new.slice(done)


def _merge_group(old: pa.Table, new: pa.Table, combine: Combine) -> pa.Table:
    both = pa.concat_tables([old, new])
    urls = both["url"].combine_chunks()
    # a stable sort: the old row comes right before the new one of the same URL
    order = np.array(pc.sort_indices(urls))
    ordered = urls.take(pa.array(order))
    again = pc.equal(ordered.slice(1), ordered.slice(0, len(ordered) - 1))
    second = np.flatnonzero(again.to_numpy(zero_copy_only=False)) + 1
    if len(second) == 0:
        return both.take(pa.array(order))
    combined = combine(both.take(pa.array(order[second - 1])), both.take(pa.array(order[second])))
    order[second - 1] = both.num_rows + np.arange(len(second), dtype=order.dtype)
    order = np.delete(order, second)
    return pa.concat_tables([both, combined]).take(pa.array(order))


def sorted_unique(rows: pa.Table, rank: str) -> tuple[pa.Table, int]:
    """Rows sorted by URL, of each URL the one that ranks highest in column `rank`;
    and how many others there were."""
    ordered = rows.take(pc.sort_indices(rows, [("url", "ascending"), (rank, "ascending")]))
    if ordered.num_rows < 2:
        return ordered, 0
    urls = ordered["url"].combine_chunks()
    differs = pc.not_equal(urls.slice(0, len(urls) - 1), urls.slice(1))
    is_last = np.append(differs.to_numpy(zero_copy_only=False), True)
    return ordered.filter(pa.array(is_last)), int(len(is_last) - is_last.sum())


def write_bucket(
    crawldb: Folder, place: str, bucket: int, rows: Iterable[pa.Table], group_rows: int
) -> BucketFile | None:
    """Writes a bucket's new file; None where no row is left."""
    name = f"{place}/{attempt_name(f'part-{bucket:05d}')}"
    with open_writer(crawldb, name, CRAWLDB.schema, group_rows) as writer:
        for table in rows:
            writer.write(table)
    if writer.rows == 0:
        crawldb.delete(name)
        return None
    return BucketFile(bucket, name, writer.rows, crawldb.size(name) or 0)
