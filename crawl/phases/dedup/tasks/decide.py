"""Who survives: slices send the best of each of their groups, destinations decide between those,
and slices are written anew where a status changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from crawl.counters import Counters
from crawl.model.arrow import with_column
from crawl.model.status import Status
from crawl.phases.dedup.rules import verdict
from crawl.phases.dedup.tasks.components import CLUSTERS
from crawl.phases.dedup.tasks.evidence import read_named
from crawl.phases.dedup.tasks.groups import find_groups
from crawl.phases.dedup.tasks.keys import GroupKeys, Mask, Numbers, Places, rank_type, schema_of
from crawl.phases.dedup.tasks.records import DedupJob, SliceRecords, read_records, slices_and_rows
from crawl.storage.folder import Folder
from crawl.tables.bucket_files import BucketTarget, WrittenBucket, stored_groups, write_bucket
from crawl.tables.exchange import Outbox, Received, RowKind
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
    losers = np.delete(groups.places, best)
    counts = np.ones(len(records), np.int64)
    counts[groups.places[best]] = groups.sizes
    survives = np.ones(len(records), np.bool_)
    survives[losers] = False
    _send_verdicts(
        records.ids[losers],
        records.marked[losers],
        np.full(len(losers), task.base.number % job.destinations, np.int32),
        outbox,
        survive=False,
    )
    keys = records.keys.take(survives)
    kind = candidates_of(job.order)
    rows = pa.table(
        [
            keys.high,
            keys.low,
            *(rank[survives] for rank in records.ranks),
            records.hosts[survives],
            records.ids[survives],
            counts[survives],
            pa.array(records.marked[survives]),
        ],
        schema=kind.schema,
    )
    outbox.send(kind, rows, keys.destinations(job.destinations))
    return +counters


def _send_verdicts(
    ids: Numbers, marked: Mask, destinations: Places, outbox: Outbox, *, survive: bool
) -> int:
    """Sends what changes of records that all survive, or all do not; returns how many."""
    sent = 0
    for is_marked in (False, True):
        status = verdict(survives=survive, is_duplicate=is_marked)
        if status is None:
            continue
        mask = marked == is_marked
        statuses = np.full(int(mask.sum()), status, np.int8)
        rows = pa.table([ids[mask], statuses], schema=VERDICTS.schema)
        outbox.send(VERDICTS, rows, destinations[mask])
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
    for table in received.batches(VERDICTS):
        slices, _ = slices_and_rows(table["id"].to_numpy())
        outbox.send(VERDICTS, table, slices)
    kind = candidates_of(job.order)
    rows = received.rows(kind)
    high, low, *ranks, hosts, ids, counts, marked = (each.to_numpy() for each in rows.columns)
    keys = GroupKeys(high, low)
    groups = find_groups(keys)
    best = groups.best([*ranks, hosts, ids])
    losers = np.delete(groups.places, best)
    survives = np.ones(len(ids), np.bool_)
    survives[losers] = False
    for mask, survive in ((~survives, False), (survives, True)):
        slices, _ = slices_and_rows(ids[mask])
        _send_verdicts(ids[mask], marked[mask], slices, outbox, survive=survive)
    sizes = counts.copy()
    if len(groups.places):
        sizes[groups.places[best]] = np.add.reduceat(counts[groups.places], groups.starts)
    sizes[losers] = 0
    large = np.flatnonzero(sizes > 1)
    duplicates = int(counts.sum() - survives.sum())
    largest = large[np.lexsort((ids[large], -sizes[large]))[:most_groups]]
    columns = (column[largest].tolist() for column in (sizes, ids, high, low))
    return DecideTaskResult(
        +Counters(groups=len(large), duplicates=duplicates), tuple(map(LargeGroup, *columns))
    )


def mark_slice(target: BucketTarget, base: Slice, received: Received) -> WrittenBucket:
    """Writes a slice anew with the statuses that were decided."""
    statuses = np.zeros(base.rows, np.int8)
    for table in received.batches(VERDICTS):
        _, rows = slices_and_rows(table["id"].to_numpy())
        statuses[rows] = table["status"].to_numpy()
    counters = Counters(
        duplicates_marked=int((statuses == Status.DB_DUPLICATE).sum()),
        duplicates_lifted=int((statuses == Status.DB_FETCHED).sum()),
    )
    tables = _with_statuses(target, base, statuses)
    return WrittenBucket(write_bucket(target, base.bucket, tables, base.rows), +counters)


def _with_statuses(
    target: BucketTarget, base: Slice, statuses: npt.NDArray[np.int8]
) -> Iterator[pa.Table]:
    first = 0
    for group in stored_groups(target.folder, base.files):
        new = statuses[first : first + group.num_rows]
        first += group.num_rows
        if new.any():
            column = np.where(new > 0, new, group["status"].to_numpy())
            group = with_column(group, "status", pa.array(column))
        yield group
