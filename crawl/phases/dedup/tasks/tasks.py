"""What a dedup asks of a slice, step by step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from crawl.counters import Counters
from crawl.phases.dedup.tasks.components import CLUSTERS, write_edges
from crawl.phases.dedup.tasks.decide import send_candidates
from crawl.phases.dedup.tasks.evidence import (
    EvidenceJob,
    EvidenceTaskResult,
    find_named,
    read_named,
    send_namings,
)
from crawl.phases.dedup.tasks.groups import find_groups
from crawl.phases.dedup.tasks.keys import GroupKeys, schema_of
from crawl.phases.dedup.tasks.members import WantedGroups, send_members
from crawl.phases.dedup.tasks.near import LinkTaskResult, NearJob, SketchTaskResult, send_bands
from crawl.phases.dedup.tasks.records import DedupJob, SliceRecords, read_records
from crawl.phases.dedup.tasks.redirects import send_targets
from crawl.phases.dedup.tasks.stars import StarsJob, send_star_members
from crawl.storage.folder import Folder
from crawl.tables.exchange import NOTHING, Outbox, Received, RowKind
from crawl.tables.slices import Slice

NODES = RowKind("nodes", schema_of(high=pa.uint64(), low=pa.uint64(), id=pa.int64()))
"""Of each slice the record that stands for a signature."""


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


def send_slice(job: DedupJob, task: DedupTask, received: Received, outbox: Outbox) -> Counters:
    """Sends the best records of a slice."""
    counters = Counters()
    records = _records(job, task, received, counters)
    send_candidates(job, task.base.number, records, outbox)
    return +counters


def send_slice_members(
    wanted: WantedGroups, job: DedupJob, task: DedupTask, received: Received, outbox: Outbox
) -> None:
    """Sends URLs of groups that a report tells of."""
    send_members(job, wanted, task.base, _records(job, task, received, Counters()), outbox)


def _records(
    job: DedupJob, task: DedupTask, received: Received, counters: Counters
) -> SliceRecords:
    evidence = {name: read_named(task.scratch, file) for name, file in task.evidence.items()}
    records = read_records(job, task.base, counters, evidence)
    rows = received.rows(CLUSTERS)
    return records.in_clusters(rows["node"].to_numpy(), rows["cluster"].to_numpy())


def send_nodes(job: DedupJob, base: Slice, outbox: Outbox) -> None:
    """Sends the records that stand for signatures."""
    records = read_records(job, base, Counters())
    first = np.unique(records.nodes())
    keys = records.keys.take(np.searchsorted(records.ids, first))
    rows = pa.table([keys.high, keys.low, first], schema=NODES.schema)
    outbox.send(NODES, rows, keys.destinations(job.destinations))


def link_nodes(scratch: Folder, destination: int, received: Received) -> LinkTaskResult:
    """Connects the records of slices that have the same signature."""
    rows = received.rows(NODES)
    ids = rows["id"].to_numpy()
    groups = find_groups(GroupKeys(rows["high"].to_numpy(), rows["low"].to_numpy()))
    members = ids[groups.places]
    least = np.minimum.reduceat(members, groups.starts) if len(members) else members
    return LinkTaskResult(write_edges(scratch, members, least[groups.numbers]), Counters())


def send_slice_bands(
    job: NearJob, base: Slice, received: Received, outbox: Outbox
) -> SketchTaskResult:
    """Sends the sketches of a slice's pages."""
    records = read_records(job.dedup, base, Counters())
    return send_bands(job, base, records, received, outbox)


@dataclass(frozen=True, slots=True)
class StarTask:
    """A slice, and the files with what its texts are compared by."""

    base: Slice
    files: tuple[str, ...]


def send_slice_star_members(
    job: StarsJob, task: StarTask, received: Received, outbox: Outbox
) -> None:
    """Sends the pages of a slice that sketches connect with others."""
    if received.has(CLUSTERS):
        records = read_records(job.dedup, task.base, Counters())
        send_star_members(job, task.files, records, received, outbox)


def send_slice_namings(
    job: EvidenceJob, base: Slice, received: Received, outbox: Outbox
) -> Counters:
    """Sends what the pages of a slice name as canonical."""
    records = read_records(job.dedup, base, Counters())
    return send_namings(job, records, base, received, outbox)


def send_slice_targets(
    job: EvidenceJob, base: Slice, received: Received, outbox: Outbox
) -> EvidenceTaskResult:
    """Sends where the records of a slice redirect to."""
    records = read_records(job.dedup, base, Counters())
    return send_targets(job, records, base, received, outbox)


def find_slice_named(job: EvidenceJob, base: Slice, received: Received) -> EvidenceTaskResult:
    """Finds the records of a slice that are named."""
    return find_named(job, read_records(job.dedup, base, Counters()), base, received)
