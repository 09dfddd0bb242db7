"""The records of a slice that are compared, as columns of numbers: the text of a row group is
dropped before the next is read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from crawl.counters import Counters
from crawl.model.status import Status
from crawl.phases.dedup.rules import COMPARABLE, EVIDENCE, Grouping
from crawl.phases.dedup.tasks.groups import find_groups
from crawl.phases.dedup.tasks.keys import (
    GroupKeys,
    Keys,
    Mask,
    Numbers,
    Places,
    group_numbers,
    host_numbers,
    mixed,
    ranks_of,
    signature_keys,
)
from crawl.storage.folder import Folder
from crawl.storage.parquet import each_group, open_table
from crawl.tables.slices import Slice

_COLUMNS = ["url", "host", "status", "fetch_time", "score", "signature"]
_NONE = np.zeros(0, np.int64)
_ROW_BITS = 40
_ALONE = np.uint64(0x5851F42D4C957F2D)
_CLUSTER = np.uint64(0x14057B7EF767814F)


def node_ids(slice_number: int, rows: Numbers) -> Numbers:
    """The number of each row of a slice among all records."""
    return (np.int64(slice_number) << _ROW_BITS) | rows.astype(np.int64)


def slices_and_rows(ids: Numbers) -> tuple[Places, Places]:
    """The slice of each record, and its row there."""
    return (ids >> _ROW_BITS).astype(np.int32), (ids & ((1 << _ROW_BITS) - 1)).astype(np.int32)


@dataclass(frozen=True)
class DedupJob:
    """A dedup: the CrawlDb, by what records are grouped, and which of a group survives."""

    crawldb: Folder
    grouping: Grouping
    order: tuple[str, ...]
    """What is compared, by the names of the table of rules."""
    destinations: int
    """Among which groups are shared out."""


@dataclass(frozen=True, slots=True)
class SliceRecords:
    """The comparable records of a slice, in its order."""

    ids: Numbers
    keys: GroupKeys
    hosts: Keys
    marked: Mask
    """Whether the record is a duplicate now."""
    ranks: list[npt.NDArray[Any]]
    """By what is compared, in that order; the least survives."""

    def __len__(self) -> int:
        return len(self.ids)

    def nodes(self) -> Numbers:
        """The record that stands for each one among clusters: the slice's first of its key."""
        nodes = self.ids.copy()
        groups = find_groups(self.keys)
        if len(groups.places):
            first = np.minimum.reduceat(self.ids[groups.places], groups.starts)
            nodes[groups.places] = first[groups.numbers]
        return nodes

    def in_clusters(self, nodes: Numbers, clusters: Numbers) -> SliceRecords:
        """The same with a cluster for a key, where the node that stands for a record has one."""
        if len(nodes) == 0:
            return self
        order = np.argsort(nodes)
        nodes, clusters = nodes[order], clusters[order]
        mine = self.nodes()
        places = np.minimum(np.searchsorted(nodes, mine), len(nodes) - 1)
        has_cluster = nodes[places] == mine
        cluster = clusters[places].astype(np.uint64)
        keys = GroupKeys(
            np.where(has_cluster, mixed(cluster, _CLUSTER), self.keys.high),
            np.where(has_cluster, mixed(cluster), self.keys.low),
        )
        return SliceRecords(self.ids, keys, self.hosts, self.marked, self.ranks)


_NO_EVIDENCE: Mapping[str, Numbers] = {}


def read_records(
    job: DedupJob, base: Slice, counters: Counters, evidence: Mapping[str, Numbers] = _NO_EVIDENCE
) -> SliceRecords:
    """The comparable records of a slice. `evidence`: by its line of the table, the ids of those
    that it speaks of."""
    parts: list[list[npt.NDArray[Any]]] = []
    for first, rows in comparable_groups(job, base, _COLUMNS, counters):
        ids = node_ids(base.number, first)
        signatures = rows["signature"].combine_chunks()
        without = signatures.is_null().to_numpy(zero_copy_only=False)
        keys = _keys(signatures, without, ids)
        if job.grouping is not Grouping.NONE:
            keys = keys.within(group_numbers(rows["host"], job.grouping))
        spoken_of = {
            name: np.isin(ids, evidence.get(name, _NONE)) for name in job.order if name in EVIDENCE
        }
        marked = rows["status"].to_numpy() == Status.DB_DUPLICATE
        ranks = [ranks_of(name, rows, spoken_of) for name in job.order]
        parts.append([ids, keys.high, keys.low, host_numbers(rows["host"]), marked, *ranks])
    if not parts:
        kinds = (
            np.int64,
            np.uint64,
            np.uint64,
            np.uint64,
            np.bool_,
            *(np.int64 for _ in job.order),
        )
        parts.append([np.zeros(0, kind) for kind in kinds])
    ids, high, low, hosts, marked, *ranks = map(np.concatenate, zip(*parts, strict=True))
    counters["records_compared"] += len(ids)
    return SliceRecords(ids, GroupKeys(high, low), hosts, marked, ranks)


def comparable_groups(
    job: DedupJob, base: Slice, columns: list[str], counters: Counters, also: Sequence[Status] = ()
) -> Iterator[tuple[Numbers, pa.Table]]:
    """The comparable rows of each row group, and those of other statuses that are named, and their
    numbers in the slice. `columns` must have status and signature."""
    first = 0
    for file in base.files:
        with open_table(job.crawldb, file.path, host_codes=True, size=file.bytes) as source:
            for group in each_group(source, columns):
                status = group["status"].to_numpy()
                pages = np.isin(status, COMPARABLE)
                has_signature = group["signature"].is_valid().to_numpy()
                mask = pages & (has_signature | (status == Status.DB_DUPLICATE))
                counters["records_without_signature"] += int((pages & ~has_signature).sum())
                if also:
                    mask |= np.isin(status, also)
                numbers = np.flatnonzero(mask) + first
                first += group.num_rows
                if len(numbers):
                    yield numbers, group if mask.all() else group.filter(pa.array(mask))


def _keys(signatures: pa.Array[Any], without: Mask, ids: Numbers) -> GroupKeys:
    """A record without a signature is like no other."""
    if not without.any():
        return signature_keys(signatures)
    numbers = cast("Keys", ids.astype(np.uint64))
    keys = GroupKeys(mixed(numbers, _ALONE), mixed(numbers))
    with_signature = signature_keys(signatures.drop_null())
    keys.high[~without], keys.low[~without] = with_signature.high, with_signature.low
    return keys
