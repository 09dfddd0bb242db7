"""Clusters: records that edges connect, found as stars around the least of them.

Two steps take turns, each an exchange (Kiveris et al., Connected Components in MapReduce and
Beyond, 2014): a record hands the least that it knows to its greater neighbours (large star),
then to its lesser ones (small star). A chain of any length is a star after few rounds, about the
square of the logarithm of its length, and a task reads the edges of a centre block by block.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from crawl.counters import Counters
from crawl.phases.dedup.tasks.groups import find_groups
from crawl.phases.dedup.tasks.keys import GroupKeys, Keys, Numbers, Places, mixed, schema_of
from crawl.phases.dedup.tasks.pairs import NearPair
from crawl.phases.dedup.tasks.records import DedupJob, read_records, slices_and_rows
from crawl.storage.folder import Folder
from crawl.storage.row_files import read_rows, write_rows
from crawl.tables.exchange import Outbox, Received, RowKind
from crawl.tables.slices import Slice

EDGES = RowKind("edges", schema_of(node=pa.int64(), other=pa.int64()))
CLUSTERS = RowKind("clusters", schema_of(node=pa.int64(), cluster=pa.int64()))
"""Records that are in a cluster, and the least of it."""
NODES = RowKind("nodes", schema_of(high=pa.uint64(), low=pa.uint64(), id=pa.int64()))
"""Of each slice the record that stands for a signature."""
FEW_EDGES = 1 << 18
"""Edges that are gathered before anything is done about them."""


@dataclass(frozen=True)
class ComponentsJob:
    """A search for clusters: where the edges lie, and how many tasks share the records."""

    scratch: Folder
    """Where the files with edges are."""
    destinations: int


@dataclass(frozen=True, slots=True)
class LinkTaskResult:
    """The file with the edges that a task found, if there are any."""

    file: str | None
    counters: Counters
    edges: int = 0
    """How many they are."""
    doubtful: tuple[NearPair, ...] = ()
    """The pairs that are the least alike of those that are near."""


def contract(ones: Numbers, others: Numbers) -> tuple[Numbers, Numbers]:
    """As few edges as connect the same: from every record to the least of its cluster."""
    nodes, places = np.unique(np.concatenate([ones, others]), return_inverse=True)
    one, other = places[: len(ones)], places[len(ones) :]
    parent = np.arange(len(nodes))
    while True:
        least = np.minimum(parent[one], parent[other])
        before = parent.copy()
        np.minimum.at(parent, before[one], least)
        np.minimum.at(parent, before[other], least)
        while True:
            further = parent[parent]
            if (further == parent).all():
                break
            parent = further
        if (parent[one] == parent[other]).all():
            break
    leaves = np.flatnonzero(parent != np.arange(len(nodes)))
    return nodes[leaves], nodes[parent[leaves]]


class GatheredEdges:
    """Edges as they are found, in memory that grows with the records that they connect, not with
    the edges. They are contracted again only when they have doubled since the last time, so that
    all contractions together cost no more than a few of all edges."""

    def __init__(self) -> None:
        self._ones: list[Numbers] = []
        self._others: list[Numbers] = []
        self._count = 0
        self._most = FEW_EDGES

    def __len__(self) -> int:
        return self._count

    def add(self, ones: Numbers, others: Numbers) -> None:
        """Adds edges between two columns of records."""
        self._ones.append(ones)
        self._others.append(others)
        self._count += len(ones)
        if self._count > self._most:
            nodes, centres = self.contracted()
            self._ones, self._others, self._count = [nodes], [centres], len(nodes)
            self._most = max(FEW_EDGES, 2 * self._count)

    def contracted(self) -> tuple[Numbers, Numbers]:
        """From every record to the least of its cluster."""
        none = np.zeros(0, np.int64)
        return contract(np.concatenate([none, *self._ones]), np.concatenate([none, *self._others]))


def write_edges(scratch: Folder, ones: Numbers, others: Numbers) -> str | None:
    """The name of a file with edges that connect the same; None where there is none."""
    return write_stars(scratch, *contract(ones, others))


def write_stars(scratch: Folder, nodes: Numbers, centres: Numbers) -> str | None:
    """The same of edges that are contracted already."""
    if len(nodes) == 0:
        return None
    return write_rows(scratch, "edges", pa.table([nodes, centres], schema=EDGES.schema))


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


def send_edges(job: ComponentsJob, name: str, outbox: Outbox) -> None:
    """Sends each edge of a file to both of its ends."""
    rows = read_rows(job.scratch, name)
    _send_both(job, rows["node"].to_numpy(), rows["other"].to_numpy(), outbox)


def large_star(job: ComponentsJob, destination: int, received: Received, outbox: Outbox) -> None:
    """Each record hands the least that it knows to its greater neighbours."""
    nodes, least = _least_known(received)
    for table in received.batches(EDGES):
        node, other = table["node"].to_numpy(), table["other"].to_numpy()
        greater = other > node
        minima = least[np.searchsorted(nodes, node[greater])]
        _send(job, other[greater], minima, outbox)


def small_star(job: ComponentsJob, destination: int, received: Received, outbox: Outbox) -> int:
    """Each record hands the least that it knows to its lesser neighbours; returns a sum that is
    the same when nothing changes any more."""
    nodes, least = _least_known(received)
    inner = nodes != least
    total = _send_both(job, nodes[inner], least[inner], outbox)
    for table in received.batches(EDGES):
        node, other = table["node"].to_numpy(), table["other"].to_numpy()
        minima = least[np.searchsorted(nodes, node)]
        further = other != minima
        total += _send_both(job, other[further], minima[further], outbox)
    return total % (1 << 64)


def send_clusters(job: ComponentsJob, destination: int, received: Received, outbox: Outbox) -> None:
    """Sends every record of a star what it belongs to, by its slice."""
    nodes, least = _least_known(received)
    rows = pa.table([nodes, least], schema=CLUSTERS.schema)
    slices, _ = slices_and_rows(nodes)
    outbox.send(CLUSTERS, rows, slices)


def _least_known(received: Received) -> tuple[Numbers, Numbers]:
    """The records of a destination, rising, and of each the least of itself and its neighbours.
    Edges are looked at as soon as they are as many as the records that are known, so that a
    centre with very many is no more than one, and no record is sorted for every block."""
    nodes = least = np.zeros(0, np.int64)
    waiting: list[pa.Table] = []
    count = 0
    for table in received.batches(EDGES):
        waiting.append(table)
        count += table.num_rows
        if count >= max(FEW_EDGES, len(nodes)):
            nodes, least = _with_neighbours(nodes, least, waiting)
            waiting, count = [], 0
    return _with_neighbours(nodes, least, waiting)


def _with_neighbours(
    nodes: Numbers, least: Numbers, tables: list[pa.Table]
) -> tuple[Numbers, Numbers]:
    ones = [table["node"].to_numpy() for table in tables]
    others = [table["other"].to_numpy() for table in tables]
    minima = [np.minimum(one, other) for one, other in zip(ones, others, strict=True)]
    node, value = np.concatenate([nodes, *ones]), np.concatenate([least, *minima])
    if not len(node):
        return nodes, least
    order = np.argsort(node, kind="stable")
    node, value = node[order], value[order]
    starts = np.flatnonzero(np.diff(node, prepend=-1))
    return node[starts], np.minimum.reduceat(value, starts)


def _send(job: ComponentsJob, nodes: Numbers, others: Numbers, outbox: Outbox) -> None:
    rows = pa.table([nodes, others], schema=EDGES.schema)
    outbox.send(EDGES, rows, _destinations(job, nodes))


def _send_both(job: ComponentsJob, nodes: Numbers, others: Numbers, outbox: Outbox) -> int:
    _send(job, nodes, others, outbox)
    _send(job, others, nodes, outbox)
    numbers: Keys = mixed(nodes.astype(np.uint64)) * np.uint64(3) + mixed(others.astype(np.uint64))
    return int(mixed(numbers).sum(dtype=np.uint64))


def _destinations(job: ComponentsJob, nodes: Numbers) -> Places:
    numbers = mixed(nodes.astype(np.uint64), np.uint64(11))
    return (numbers % np.uint64(job.destinations)).astype(np.int32)
