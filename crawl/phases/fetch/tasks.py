"""What tasks of a fetch have learnt becomes rows of the datasets `robots` and `servers`.

A task reads the files of one part and sends their rows to their buckets, which are then merged
as those of any table (`tables/table_merge.py`). The newest row of a key counts. What has
expired is left out of every bucket that is written, and of more rows than it may have the
oldest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from crawl.errors import StorageError
from crawl.model.tables import ROBOTS, SERVERS
from crawl.storage.chunks import Piece
from crawl.storage.folder import Folder
from crawl.storage.robots_store import read_pieces
from crawl.storage.server_pauses import read_pause_rows
from crawl.tables.exchange import Outbox
from crawl.tables.merge import KeyGroups
from crawl.tables.slices import Router
from crawl.tables.table_merge import send_delta

BUCKET_ROWS = 300_000
"""The most of one bucket: a dataset may be as large as its crawl has buckets, 5 million hosts with
16 of them, and a task has no more than this in memory."""
BUCKET_BYTES = 256 << 20
"""The most of the answers of one bucket."""


@dataclass(frozen=True, slots=True)
class HandOverTask:
    """The files that one part has left."""

    robots_folder: Folder
    robots: tuple[Piece, ...]
    servers_folder: Folder
    servers: Piece | None


def send_robots(router: Router, task: HandOverTask, outbox: Outbox) -> None:
    """Sends the answers that a part has got; a file that is damaged or gone counts for nothing."""
    rows = _table(read_pieces(task.robots_folder, task.robots), ROBOTS.schema)
    send_delta(ROBOTS, rows, router, outbox)


def send_pauses(router: Router, task: HandOverTask, outbox: Outbox) -> None:
    """Sends the pauses of a part's servers."""
    send_delta(SERVERS, _table(_pause_rows(task), SERVERS.schema), router, outbox)


def _pause_rows(task: HandOverTask) -> Iterator[pa.Table]:
    if task.servers is None:
        return
    try:
        yield from read_pause_rows(task.servers_folder, task.servers)
    except StorageError:
        return  # a job before this one has handed it over, and died before it said so


def _table(rows: Iterable[pa.Table], schema: pa.Schema) -> pa.Table:
    empty = schema.empty_table()
    return pa.concat_tables([empty, *(each.select(schema.names).cast(schema) for each in rows)])


def newest_answer(groups: KeyGroups) -> pa.Table:
    """The Combine of answers: the one that was asked for last."""
    return groups.rows.take(_newest(groups, "asked_at"))


def strictest_pause(groups: KeyGroups) -> pa.Table:
    """The Combine of pauses: the newest row, but the longest of the pauses: two parts may
    have asked one server."""
    rows = groups.rows.take(_newest(groups, "told_at"))
    longest = np.maximum.reduceat(_moments(groups.rows, "ready_at"), groups.starts)
    place = rows.schema.get_field_index("ready_at")
    field = rows.schema.field(place)
    return rows.set_column(place, field, pa.array(longest, pa.int64()).cast(field.type))


def _newest(groups: KeyGroups, column: str) -> npt.NDArray[np.int64]:
    """The place of the newest row of each group; of several as new the last."""
    order: npt.NDArray[np.int64] = np.lexsort((_moments(groups.rows, column), groups.owners))
    ends = np.append(groups.starts, len(order))[1:] - 1
    newest: npt.NDArray[np.int64] = order[ends]
    return newest


def _moments(rows: pa.Table, column: str) -> npt.NDArray[np.int64]:
    moments: npt.NDArray[np.int64] = rows[column].cast(pa.int64()).to_numpy()
    return moments


@dataclass(frozen=True, slots=True)
class DropExpired:
    """Leaves out what has expired, then what is oldest beyond the bounds of a bucket."""

    now_ms: int
    expires: tuple[str, ...]
    """The columns of which the latest moment is a row's end."""
    age: str
    """The column by which one row is older than another."""
    max_rows: int = BUCKET_ROWS
    max_bytes: int = BUCKET_BYTES

    @classmethod
    def of_robots(cls, now_ms: int) -> DropExpired:
        return cls(now_ms, ("expires_at",), "asked_at")

    @classmethod
    def of_servers(cls, now_ms: int) -> DropExpired:
        return cls(now_ms, ("ready_at", "failures_until"), "told_at")

    def __call__(self, tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
        valid = [table.filter(pa.array(self._is_valid(table))) for table in tables]
        rows = pa.concat_tables(valid) if valid else None
        if rows is None or rows.num_rows == 0:
            return
        yield self._bounded(rows)

    def _is_valid(self, table: pa.Table) -> npt.NDArray[np.bool_]:
        ends = np.zeros(table.num_rows, dtype=np.int64)
        for column in self.expires:
            ends = np.maximum(ends, _moments(table, column))
        return ends > self.now_ms

    def _bounded(self, rows: pa.Table) -> pa.Table:
        newest_first = np.argsort(-_moments(rows, self.age), kind="stable")
        sizes = np.zeros(rows.num_rows, dtype=np.int64)
        if "content" in rows.column_names:
            sizes = pc.binary_length(rows["content"]).to_numpy().astype(np.int64)
        fits = np.cumsum(sizes[newest_first]) <= self.max_bytes
        count = min(self.max_rows, int(fits.sum()))
        if count == rows.num_rows:
            return rows
        return rows.take(np.sort(newest_first[:count]))
