"""generate's last steps: fetch lists are written, and the CrawlDb's records marked on request."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from crawl.model.arrow import with_column
from crawl.model.tables import CRAWL_GENERATE
from crawl.phases.generate.tasks.chains import LISTS
from crawl.phases.generate.tasks.shards import assigned_rows, with_generate_time
from crawl.storage.folder import Folder, attempt_name
from crawl.storage.manifest import BucketFile
from crawl.storage.parquet import open_writer
from crawl.storage.segments import PartFile
from crawl.tables.bucket_files import BucketTarget, stored_groups, write_bucket
from crawl.tables.exchange import Received
from crawl.tables.rows_aside import RowsAside
from crawl.tables.slices import Slice
from crawl.tables.spill import Spill

_MAX_BYTES = 128 << 20
"""Of rows of a list that are shuffled at once, as they are in memory."""
_HEAPS = 128
"""That rows are thrown on at once: of each some wait to be put aside."""


@dataclass(frozen=True, slots=True)
class ListTask:
    """One part of one segment's fetch list."""

    folder: Folder
    """The segment's crawl_generate."""
    part: int
    destination: int


def write_list(group_rows: int, task: ListTask, received: Received) -> PartFile:
    """Writes the part's file, shuffled so that hosts take turns."""
    name = attempt_name(f"part-{task.part:05d}")
    chance = np.random.default_rng(task.destination)
    with open_writer(task.folder, name, CRAWL_GENERATE.schema, group_rows) as writer:
        for rows in _shuffled(lambda: received.tables(LISTS), chance):
            writer.write(rows)
    return PartFile(task.part, name, writer.rows, writer.bytes)


def _shuffled(
    tables: Callable[[], Iterator[pa.Table]], chance: np.random.Generator
) -> Iterator[pa.Table]:
    """The rows in an order by chance. More than memory should hold are thrown on heaps on the
    local disk by chance, and one heap after the other is shuffled: any order is as likely."""
    gathered, size = [LISTS.schema.empty_table()], 0
    for table in tables():
        size += table.nbytes
        if size <= _MAX_BYTES:
            gathered.append(table)
        else:
            gathered.clear()
    if size <= _MAX_BYTES:
        rows = pa.concat_tables(gathered).combine_chunks()
        yield rows.take(chance.permutation(rows.num_rows))
        return
    spill = Spill()
    count = min(_HEAPS, 1 + 2 * size // _MAX_BYTES)
    heaps = [RowsAside(LISTS.schema, spill) for _ in range(count)]
    for table in tables():
        thrown = chance.integers(0, len(heaps), table.num_rows)
        for number in np.unique(thrown).tolist():
            heaps[number].add(table.filter(pa.array(thrown == number)))
    for heap in heaps:
        heap.put_aside()
    for heap in heaps:
        yield from _shuffled(heap.tables, chance)


def mark_slice(
    target: BucketTarget, now_ms: int, base: Slice, received: Received
) -> tuple[BucketFile, ...]:
    """Writes the slice anew with the generate time in its selected records."""
    rows = _marked_groups(target.folder, now_ms, base, received)
    return write_bucket(target, base.bucket, rows, base.rows)


def _marked_groups(
    crawldb: Folder, now_ms: int, base: Slice, received: Received
) -> Iterator[pa.Table]:
    rows, segments = assigned_rows(received)
    start = 0
    for group in stored_groups(crawldb, base.files):
        first, last = np.searchsorted(rows, [start, start + group.num_rows])
        start += group.num_rows
        if last > first:
            marked = with_generate_time(
                group["metadata"].combine_chunks(),
                now_ms,
                rows[first:last] - (start - group.num_rows),
                segments[first:last],
            )
            group = with_column(group, "metadata", marked)
        yield group
