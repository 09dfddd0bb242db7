"""What segments tell of URLs, read from the files that fetch and parse wrote, once each, by tasks
that send every row to its slice; links to one URL as one row, where scoring lets them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc

from crawl.counters import Counters
from crawl.model.arrow import count_true
from crawl.phases.updatedb.tasks.hosts import HostTroublesFile, send_troubles
from crawl.phases.updatedb.tasks.links import DELTA, combined_links, single_rows
from crawl.storage.folder import Folder
from crawl.storage.manifest import BucketFile
from crawl.storage.parquet import each_group, open_whole_table
from crawl.tables.exchange import Outbox, RowKind
from crawl.tables.renormalize import StoredRecords, send_renormalized, with_urls
from crawl.tables.slices import gathered

UPDATES = RowKind("updates", DELTA)

_ROWS_AT_ONCE = 400_000
"""Rows that a sending task has in memory, unless one file alone has more."""


@dataclass(frozen=True, slots=True)
class DeltaFile:
    """A file of a segment's crawl_fetch or crawl_parse."""

    folder: Folder
    path: str
    rows: int
    origin: int
    """Twice the segment's place among those to be applied; one more for crawl_parse."""


@dataclass(frozen=True)
class SendDeltaJob:
    """The sending of what segments say of URLs to the slices of the CrawlDb, and whether links are
    combined on the way."""

    stored: StoredRecords
    combines_links: bool = False
    """Whether scoring lets links to one URL travel as one row."""


@dataclass(frozen=True, slots=True)
class DeltaBundle:
    """Files that one task reads, in their order."""

    files: tuple[DeltaFile, ...]


SendDeltaTask = DeltaBundle | HostTroublesFile | BucketFile


def bundles(files: Iterable[DeltaFile]) -> Iterator[DeltaBundle]:
    """The files in their order, as many together as a sending task can take."""
    return map(DeltaBundle, gathered(files, _ROWS_AT_ONCE))


def send_delta(job: SendDeltaJob, task: SendDeltaTask, outbox: Outbox) -> Counters:
    """Sends to their slices the rows of some files, what a fetch tells of hosts that failed, or
    the stored records of a file whose URL changes when it is normalised again."""
    counters = Counters()
    if isinstance(task, BucketFile):
        send_renormalized(job.stored, task, outbox)
    elif isinstance(task, HostTroublesFile):
        send_troubles(task, job.stored.router, outbox)
    else:
        tables = chain.from_iterable(_groups(job, file, counters) for file in task.files)
        rows = pa.concat_tables([DELTA.empty_table(), *tables])
        outbox.send(UPDATES, rows, job.stored.router.slices_of(rows["host"], rows["url"]))
    return counters


def _groups(job: SendDeltaJob, file: DeltaFile, counters: Counters) -> Iterator[pa.Table]:
    """The rows of each row group; links to one URL are seldom in two of them. The file is read
    once, whole: on a store that is one request."""
    renormalization = job.stored.renormalization
    with open_whole_table(file.folder, file.path) as source:
        for group in each_group(source):
            rows = single_rows(group, file.origin)
            if renormalization is not None and rows.num_rows:
                urls, is_accepted = renormalization.of(rows["url"].combine_chunks(), counters)
                counters["records_filtered"] += count_true(pc.invert(is_accepted))
                rows = with_urls(rows.filter(is_accepted), urls.filter(is_accepted))
            yield combined_links(rows, counters) if job.combines_links else rows
