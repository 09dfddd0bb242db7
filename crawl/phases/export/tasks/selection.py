"""A shard chooses which of its pages are exported, and what has changed since a snapshot.

A page is exported where it would be indexed: the newest parse of each URL, asked the table of
phases/index/tasks/decisions.py. Since a snapshot: the same question is put to the segments that
the CrawlDb had taken in by then, and to that snapshot of it; the two answers tell what is new,
changed or gone.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from crawl.counters import Counters
from crawl.model.arrow import as_array
from crawl.model.table import TIMESTAMP
from crawl.phases.index.tasks.decide import DecidedPages, DecideJob, ShardTask, decide_rows
from crawl.phases.index.tasks.keys import KEYS
from crawl.storage.manifest import BucketFile
from crawl.tables.exchange import Outbox, Received, RowKind
from crawl.tables.ranges import NewRows


class Change(StrEnum):
    """What has become of a page since a snapshot."""

    NEW = "new"
    CHANGED = "changed"
    GONE = "gone"


UNCHANGED = "unchanged"
_CHANGES: tuple[Change | None, ...] = (None, Change.NEW, Change.CHANGED, Change.GONE)
"""By code; 0 where all pages are exported, whatever they were before."""

_EXPORTED: dict[str, pa.DataType] = {
    "url": pa.string(),
    "host": pa.string(),
    "time": pa.int64(),
    "row": pa.int64(),
    "change": pa.int8(),
    "modified_time": TIMESTAMP,
    "score": pa.float32(),
}
EXPORTED = RowKind("export wanted", pa.schema(_EXPORTED))
"""Pages to be exported, sent to the part where their parse lies; pages that are gone, sent to any
part, with a row of -1."""


def change_of(code: int) -> Change | None:
    return _CHANGES[code]


@dataclass(frozen=True, slots=True)
class SelectionTask:
    """One shard, and the CrawlDb's files that have its URLs, now and then."""

    number: int
    crawldb: tuple[BucketFile, ...] = ()
    before: tuple[BucketFile, ...] = ()

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.crawldb)


@dataclass(frozen=True)
class SelectionJob:
    """The choice of the pages to export: how it is decided now, and how it was at the snapshot
    since which changes are asked for."""

    now: DecideJob
    before: DecideJob | None = None
    """How it was decided at the snapshot since which changes are asked for."""
    old_segments: tuple[bool, ...] = ()
    """Of each segment whether the CrawlDb had taken it in by then."""


def select_shard(
    job: SelectionJob, task: SelectionTask, received: Received, outbox: Outbox
) -> Counters:
    """Decides on all pages of the shard, and sends word to the parts."""
    counters = Counters()
    for keys in NewRows.received(received, KEYS, "url").ranges():
        if keys.rows.num_rows:
            _select_range(job, task, keys.rows, outbox, counters)
    return counters


def _select_range(
    job: SelectionJob, task: SelectionTask, rows: pa.Table, outbox: Outbox, counters: Counters
) -> None:
    now = decide_rows(job.now, ShardTask(task.number, task.crawldb), rows, counters)
    is_added = now.is_added
    changes = np.zeros(len(is_added), dtype=np.int8)
    if job.before is not None:
        was_added, is_same = _before(job, task, rows, now)
        changes[is_added & ~was_added] = _CHANGES.index(Change.NEW)
        changes[is_added & was_added & ~is_same] = _CHANGES.index(Change.CHANGED)
        is_gone = was_added & ~is_added
        if is_gone.any():
            _send_gone(job, task, now, is_gone, outbox)
        counters["gone"] += int(np.count_nonzero(is_gone))
        counters[UNCHANGED] += int(np.count_nonzero(is_added & was_added & is_same))
        is_added = is_added & (changes != 0)
        for change in (Change.NEW, Change.CHANGED):
            counters[change.value] += int(np.count_nonzero(changes == _CHANGES.index(change)))
    if not is_added.any():
        return
    mask = pa.array(is_added)
    pages = now.newest.pages.filter(mask)
    stored = now.stored.filter(mask)
    parsed = [pages[name] for name in ("url", "host", "time", "row")]
    stored_columns = [stored[name] for name in ("modified_time", "score")]
    table = pa.table(
        [*parsed, pa.array(changes[is_added]), *stored_columns], schema=EXPORTED.schema
    )
    outbox.send(EXPORTED, table, pages["part"].to_numpy())


def _before(
    job: SelectionJob, task: SelectionTask, rows: pa.Table, now: DecidedPages
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Of each page whether it was exportable then, and whether its text is still the same."""
    assert job.before is not None
    count = len(now.urls)
    was_added, is_same = np.zeros(count, dtype=np.bool_), np.zeros(count, dtype=np.bool_)
    is_old = np.array(job.old_segments, dtype=np.bool_)[rows["segment"].to_numpy()]
    old = rows.filter(pa.array(is_old))
    if not old.num_rows:
        return was_added, is_same
    then = decide_rows(job.before, ShardTask(task.number, task.before), old, Counters())
    places = pc.index_in(then.urls, value_set=now.urls).to_numpy().astype(np.int64)
    was_added[places] = then.is_added
    here = now.newest.pages.take(places)
    is_same[places] = _same(then.newest.pages, here)
    return was_added, is_same


def _same(then: pa.Table, now: pa.Table) -> npt.NDArray[np.bool_]:
    """Whether two parses of the same pages are the same one, or of pages with one signature."""
    same_place = np.ones(then.num_rows, dtype=np.bool_)
    for name in ("part", "row"):
        same_place &= then[name].to_numpy() == now[name].to_numpy()
    alike: Any = pc.equal(as_array(then["signature"]), as_array(now["signature"]))
    same_text = pc.fill_null(alike, False).to_numpy(zero_copy_only=False)
    return np.asarray(same_place | same_text, dtype=np.bool_)


def _send_gone(
    job: SelectionJob,
    task: SelectionTask,
    now: DecidedPages,
    is_gone: npt.NDArray[np.bool_],
    outbox: Outbox,
) -> None:
    pages = now.newest.pages.filter(pa.array(is_gone))
    versions = pa.array(now.newest.version[is_gone])
    values = (-1, _CHANGES.index(Change.GONE), None, 0.0)
    columns = [
        pa.array([value] * len(versions), kind)
        for value, kind in zip(values, EXPORTED.schema.types[3:], strict=True)
    ]
    table = pa.table([pages["url"], pages["host"], versions, *columns], schema=EXPORTED.schema)
    outbox.send_all(EXPORTED, table, task.number % job.now.parts)
