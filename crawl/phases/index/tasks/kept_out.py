"""Pages that only their state in the CrawlDb keeps out of the index, and where their parse lies.

A page that is gone, redirected, an orphan or a duplicate may be none of it any more without
being parsed again: its twin has vanished, or it is back as it was (304). No new segment has its
text then. So each shard notes the old one, and `index` takes such a page from there.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from crawl.model.arrow import as_array, fill_null, strings
from crawl.model.derived_tables import INDEX_KEPT_OUT
from crawl.model.status import Status
from crawl.phases.index.tasks.decide import ShardTask
from crawl.phases.index.tasks.matching import beside_stored, matching_rows
from crawl.storage.folder import Folder
from crawl.storage.manifest import BucketFile
from crawl.tables.bucket_files import BucketTarget, BucketWriter, stored_groups
from crawl.tables.ranges import StoredGroups

_COLUMNS = INDEX_KEPT_OUT.names


@dataclass(frozen=True, slots=True)
class KeptOutJob:
    """The search for pages that only the CrawlDb kept out of the index: the index's notes and the
    CrawlDb."""

    index: Folder
    crawldb: Folder
    with_not_modified: bool = True
    """Whether pages are indexed that were found not modified."""


def returning_segments(job: KeptOutJob, task: ShardTask) -> dict[str, int]:
    """The segments that have pages which nothing keeps out any more, and how many each has."""
    return dict(Counter(strings(returning_pages(job, task)["segment"])))


def returning_pages(job: KeptOutJob, task: ShardTask) -> pa.Table:
    """The rows of pages which nothing keeps out any more."""
    groups = list(stored_groups(job.index, task.kept_out, _COLUMNS))
    noted = pa.concat_tables([INDEX_KEPT_OUT.schema.empty_table(), *groups])
    statuses = statuses_of(job.crawldb, task.crawldb, as_array(noted["url"]))
    good = [Status.DB_FETCHED, *([Status.DB_NOTMODIFIED] if job.with_not_modified else [])]
    return noted.filter(pa.array(np.isin(statuses, [int(status) for status in good])))


def statuses_of(
    folder: Folder, files: tuple[BucketFile, ...], urls: pa.Array[Any]
) -> npt.NDArray[np.int8]:
    """The CrawlDb's status of each URL; 0 where it has none."""
    statuses = np.zeros(len(urls), dtype=np.int8)
    paths = (file.path for file in files if len(urls))
    for rows, places in matching_rows(folder, paths, urls, ["status"]):
        statuses[places] = rows["status"].to_numpy()
    return statuses


class KeptOutNotes:
    """The notes of a shard, written anew in a `with` block that goes through all of them."""

    def __init__(self, target: BucketTarget, shard: int, noted: tuple[BucketFile, ...]) -> None:
        self._target = target
        self._noted = noted
        self._stored = StoredGroups(stored_groups(target.folder, noted, _COLUMNS), "url")
        self._writer = BucketWriter(target, shard)
        self._changed = False
        self.files = noted
        """The shard's files: after the block, those that are to be published."""

    def merge(self, end: str | None, pages: pa.Table, over: pa.Table) -> None:
        """Goes on to a URL, or to the end: `kept` are rows of pages that are kept out, each URL
        once, `over` the URLs and versions of those of which that can no longer be said. What is
        noted of a later version stays."""
        pages = pages.sort_by("url").combine_chunks()
        schema = INDEX_KEPT_OUT.schema
        for group, beside in beside_stored(self._stored, end, pages, schema):
            self._write(group, beside, over)

    def _write(self, group: pa.Table, pages: pa.Table, over: pa.Table) -> None:
        is_over = latest(group, over) >= group["version"].to_numpy()
        is_replaced = latest(group, pages) >= group["version"].to_numpy()
        is_old = latest(pages, group) > pages["version"].to_numpy()
        rows = pa.concat_tables(
            [group.filter(pa.array(~is_over & ~is_replaced)), pages.filter(pa.array(~is_old))]
        )
        rows = rows.sort_by("url").combine_chunks() if pages.num_rows else rows
        self._changed = self._changed or not rows.equals(group)
        self._writer.write(rows.cast(INDEX_KEPT_OUT.schema))

    def __enter__(self) -> KeptOutNotes:
        return self

    def __exit__(self, *fault: Any) -> None:
        self._writer.__exit__(*fault)
        if self._changed:
            self.files = tuple(self._writer.files)
        else:
            for file in self._writer.files:
                self._target.folder.delete(file.path)


def latest(rows: pa.Table, others: pa.Table) -> npt.NDArray[np.int64]:
    """The version that others have of each row's URL; -1 where they have none."""
    places = pc.index_in(as_array(rows["url"]), value_set=as_array(others["url"]))
    versions: npt.NDArray[np.int64] = fill_null(
        as_array(others["version"]).take(places), -1
    ).to_numpy()
    return versions


def kept_rows(urls: Any, hosts: Any, versions: Any, segments: Any) -> pa.Table:
    """Rows of pages that are kept out."""
    return pa.table([urls, hosts, versions, segments], schema=INDEX_KEPT_OUT.schema)
