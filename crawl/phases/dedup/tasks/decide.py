"""Who survives: slices send the best of each of their groups, destinations decide between those,
and slices are written anew where a status changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from crawl.counters import Counters
from crawl.model.status import Status
from crawl.model.tables import CRAWLDB
from crawl.phases.dedup.rules import verdict
from crawl.phases.dedup.tasks.components import CLUSTERS
from crawl.phases.dedup.tasks.evidence import read_named
from crawl.phases.dedup.tasks.groups import find_groups
from crawl.phases.dedup.tasks.keys import GroupKeys, Numbers, rank_type, schema_of
from crawl.phases.dedup.tasks.records import DedupJob, SliceRecords, read_records, slices_and_rows
from crawl.storage.folder import Folder
from crawl.storage.manifest import BucketFile
from crawl.tables.bucket_files import BucketTarget, stored_groups, write_bucket
from crawl.tables.exchange import NOTHING, Outbox, Received, RowKind
from crawl.tables.slices import Slice

VERDICTS = RowKind("verdicts", schema_of(id=pa.int64(), status=pa.int8()))
"""Records whose status changes."""


def candidates_of(order: tuple[str, ...]) -> RowKind:
    """The best of a group in a slice, as it travels."""
    columns: list[tuple[str, pa.DataType]] = [("high", pa.uint64()), ("low", pa.uint64())]
    columns += [(f"rank{place}", rank_type(name)) for place, name in enumerate(order)]
    columns += [("host", pa.uint64()), ("id", pa.int64()), ("count", pa.int64())]
    return RowKind("candidates", pa.schema([*columns, ("marked", pa.bool_())]))


@dataclass(frozen=True, slots=True)
class DedupTask:
    """A slice, and the files that say for which of its records there is evidence."""

    base: Slice
    scratch: Folder
    evidence: Mapping[str, str]
    """By its line of the table: the file with their ids."""

    @property
    def rows(self) -> int:
        return self.base.rows


def alone(
    function: Callable[[DedupJob, DedupTask, Received, Outbox], Any],
    job: DedupJob,
    task: DedupTask,
    outbox: Outbox,
) -> Any:
    """Runs the function of a task that receives no rows: there are no clusters."""
    return function(job, task, NOTHING, outbox)


def clustered_records(
    job: DedupJob, task: DedupTask, received: Received, counters: Counters
) -> SliceRecords:
    """The comparable records of a slice, those of a cluster under its key."""
    evidence = {name: read_named(task.scratch, file) for name, file in task.evidence.items()}
    records = read_records(job, task.base, counters, evidence)
    rows = received.rows(CLUSTERS)
    return records.in_clusters(rows["node"].to_numpy(), rows["cluster"].to_numpy())


def send_candidates(job: DedupJob, task: DedupTask, received: Received, outbox: Outbox) -> Counters:
    """Sends the best of each group of a slice, and that the others are duplicates: whoever loses
    here cannot win elsewhere."""
    counters = Counters()
    records = clustered_records(job, task, received, counters)
    groups = find_groups(records.keys)
    best = groups.best([*records.ranks, records.hosts, records.ids])
    lost = np.ones(len(groups.places), np.bool_)
    lost[best] = False
    losers = groups.places[lost]
    counts = np.ones(len(records), np.int64)
    counts[groups.places[best]] = groups.sizes
    left = np.ones(len(records), np.bool_)
    left[losers] = False
    _send_verdicts(
        records.ids[losers],
        records.marked[losers],
        np.full(len(losers), task.base.number % job.destinations, np.int32),
        outbox,
        survive=False,
    )
    keys = records.keys.take(left)
    kind = candidates_of(job.order)
    rows = pa.table(
        [
            keys.high,
            keys.low,
            *(rank[left] for rank in records.ranks),
            records.hosts[left],
            records.ids[left],
            counts[left],
            pa.array(records.marked[left]),
        ],
        schema=kind.schema,
    )
    outbox.send(kind, rows, keys.destinations(job.destinations))
    return +counters


def _send_verdicts(
    ids: Numbers,
    marked: npt.NDArray[np.bool_],
    destinations: npt.NDArray[np.int32],
    outbox: Outbox,
    *,
    survive: bool,
) -> int:
    """Sends what changes of records that all survive, or all do not; returns how many."""
    sent = 0
    for is_marked in (False, True):
        status = verdict(survives=survive, is_duplicate=is_marked)
        if status is None:
            continue
        chosen = marked == is_marked
        statuses = np.full(int(chosen.sum()), status, np.int8)
        rows = pa.table([ids[chosen], statuses], schema=VERDICTS.schema)
        outbox.send(VERDICTS, rows, destinations[chosen])
        sent += rows.num_rows
    return sent


@dataclass(frozen=True, slots=True)
class LargeGroup:
    """A group as the destination that decides knows it."""

    size: int
    survivor: int
    """The record's id."""
    high: int
    low: int


@dataclass(frozen=True, slots=True)
class DecideTaskResult:
    """What was decided: counts, and the largest groups."""

    counters: Counters
    largest: tuple[LargeGroup, ...]


def decide(
    job: DedupJob, most_groups: int, destination: int, received: Received, outbox: Outbox
) -> DecideTaskResult:
    """Decides between the candidates of every group and sends changes to their slices; tells of the
    largest groups, so many at most."""
    counters = Counters()
    for table in received.batches(VERDICTS):
        slices, _ = slices_and_rows(table["id"].to_numpy())
        outbox.send(VERDICTS, table, slices)
    kind = candidates_of(job.order)
    rows = received.rows(kind)
    keys = GroupKeys(rows["high"].to_numpy(), rows["low"].to_numpy())
    ids, counts = rows["id"].to_numpy(), rows["count"].to_numpy()
    marked = rows["marked"].combine_chunks().to_numpy(zero_copy_only=False)
    ranks = [rows[f"rank{place}"].to_numpy() for place in range(len(job.order))]
    groups = find_groups(keys)
    best = groups.best([*ranks, rows["host"].to_numpy(), ids])
    lost = np.ones(len(groups.places), np.bool_)
    lost[best] = False
    losers = groups.places[lost]
    survives = np.ones(len(ids), np.bool_)
    survives[losers] = False
    for mask, survive in ((~survives, False), (survives, True)):
        slices, _ = slices_and_rows(ids[mask])
        _send_verdicts(ids[mask], marked[mask], slices, outbox, survive=survive)
    sizes = counts.copy()
    if len(groups.places):
        sizes[groups.places[best]] = np.add.reduceat(counts[groups.places], groups.starts)
    sizes[losers] = 0
    counters["groups"] += int((sizes > 1).sum())
    counters["duplicates"] += int(counts.sum() - survives.sum())
    return DecideTaskResult(+counters, tuple(_largest(sizes, ids, keys, most_groups)))


def _largest(sizes: Numbers, ids: Numbers, keys: GroupKeys, most: int) -> Iterator[LargeGroup]:
    places = np.flatnonzero(sizes > 1)
    order = np.lexsort((ids[places], -sizes[places]))[:most]
    for place in places[order].tolist():
        yield LargeGroup(
            int(sizes[place]), int(ids[place]), int(keys.high[place]), int(keys.low[place])
        )


@dataclass(frozen=True, slots=True)
class MarkTaskResult:
    """A slice's new files."""

    files: tuple[BucketFile, ...]
    counters: Counters


def mark_slice(target: BucketTarget, base: Slice, received: Received) -> MarkTaskResult:
    """Writes a slice anew with the statuses that were decided."""
    counters = Counters()
    statuses = np.zeros(base.rows, np.int8)
    for table in received.batches(VERDICTS):
        _, rows = slices_and_rows(table["id"].to_numpy())
        statuses[rows] = table["status"].to_numpy()
    counters["duplicates_marked"] = int((statuses == Status.DB_DUPLICATE).sum())
    counters["duplicates_lifted"] = int((statuses == Status.DB_FETCHED).sum())
    marked = _with_statuses(target, base, statuses)
    return MarkTaskResult(write_bucket(target, base.bucket, marked, base.rows), +counters)


def _with_statuses(
    target: BucketTarget, base: Slice, statuses: npt.NDArray[np.int8]
) -> Iterator[pa.Table]:
    first = 0
    place = CRAWLDB.names.index("status")
    for group in stored_groups(target.folder, base.files):
        new = statuses[first : first + group.num_rows]
        first += group.num_rows
        if new.any():
            column = np.where(new > 0, new, group["status"].to_numpy())
            group = group.set_column(place, CRAWLDB.schema.field("status"), pa.array(column))
        yield group
