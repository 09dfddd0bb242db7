"""The URLs of the largest groups, a few of each: what a report tells of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from crawl.counters import Counters
from crawl.model.arrow import strings
from crawl.phases.dedup.tasks.decide import DedupTask, LargeGroup, clustered_records
from crawl.phases.dedup.tasks.keys import GroupKeys, schema_of
from crawl.phases.dedup.tasks.records import DedupJob, slices_and_rows
from crawl.phases.dedup.values import DuplicateGroup
from crawl.tables.bucket_files import stored_groups
from crawl.tables.exchange import Outbox, Received, RowKind
from crawl.tables.slices import Slice

MEMBERS = RowKind("members", schema_of(group=pa.int32(), id=pa.int64(), url=pa.string()))


@dataclass(frozen=True)
class WantedGroups:
    """The groups that a report tells of, as many as tasks need to know of them."""

    high: Any
    """Of their keys, rising."""
    numbers: Any
    """Of the groups, by `high`."""
    survivors: Any
    most_urls: int
    """Of the duplicates of one group."""

    @classmethod
    def of(cls, groups: Sequence[LargeGroup], most_urls: int) -> WantedGroups:
        high = np.array([group.high for group in groups], np.uint64)
        order = np.argsort(high)
        survivors = np.array([group.survivor for group in groups], np.int64)
        return cls(high[order], order, survivors, most_urls)

    def among(self, keys: GroupKeys) -> tuple[Any, Any]:
        """The places of records that are of these groups, and the numbers of their groups."""
        at = np.minimum(np.searchsorted(self.high, keys.high), len(self.high) - 1)
        places = np.flatnonzero(self.high[at] == keys.high)
        return places, self.numbers[at[places]]


def send_members(
    groups: WantedGroups, job: DedupJob, task: DedupTask, received: Received, outbox: Outbox
) -> None:
    """Sends a few URLs of a slice for each of the groups."""
    records = clustered_records(job, task, received, Counters())
    places, numbers = groups.among(records.keys)
    ids = records.ids[places]
    order = np.lexsort((ids, numbers))
    ids, numbers = ids[order], numbers[order]
    begins = np.flatnonzero(np.diff(numbers, prepend=-1))
    within = np.arange(len(ids)) - np.repeat(begins, np.diff(begins, append=len(ids)))
    is_named = (within <= groups.most_urls) | (ids == groups.survivors[numbers])
    ids, numbers = ids[is_named], numbers[is_named]
    by_row = np.argsort(ids)
    ids, numbers = ids[by_row], numbers[by_row]
    _, rows = slices_and_rows(ids)
    urls = urls_at(job, task.base, rows)
    table = pa.table([numbers.astype(np.int32), ids, urls], schema=MEMBERS.schema)
    outbox.send(MEMBERS, table, (numbers % job.destinations).astype(np.int32))


def urls_at(job: DedupJob, base: Slice, rows: Any) -> pa.ChunkedArray[Any]:
    """The URLs of rising rows of a slice."""
    chunks: list[Any] = []
    first = 0
    for group in stored_groups(job.crawldb, base.files, ["url"]):
        begin, end = np.searchsorted(rows, [first, first + group.num_rows])
        chunks += group["url"].take(pa.array(rows[begin:end] - first)).chunks
        first += group.num_rows
    return pa.chunked_array(chunks, pa.string())


def gather_members(
    groups: Sequence[LargeGroup], most_urls: int, destination: int, received: Received
) -> list[tuple[int, DuplicateGroup]]:
    """The groups of a destination by their numbers, each with its URLs."""
    rows = received.rows(MEMBERS).sort_by([("group", "ascending"), ("id", "ascending")])
    numbers: list[Any] = rows["group"].to_pylist()
    ids: list[Any] = rows["id"].to_pylist()
    survivors: dict[int, str] = {}
    others: dict[int, list[str]] = {}
    for number, row, url in zip(numbers, ids, strings(rows["url"]), strict=True):
        urls = others.setdefault(number, [])
        if row == groups[number].survivor:
            survivors[number] = url
        elif len(urls) < most_urls:
            urls.append(url)
    result = []
    for number, urls in others.items():
        size = groups[number].size
        left_out = size - 1 - len(urls)
        result.append((number, DuplicateGroup(size, survivors[number], tuple(urls), left_out)))
    return result
