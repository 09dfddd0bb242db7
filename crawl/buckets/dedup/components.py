"""Clusters: records that edges connect, found as stars around the least of them.

Two steps take turns, each an exchange (Kiveris et al., Connected Components in MapReduce and
Beyond, 2014): a record hands the least that it knows to its greater neighbours (large star),
then to its lesser ones (small star). A chain of any length is a star after few rounds, about the
square of the logarithm of its length, and a task reads the edges of a centre block by block.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from crawl.buckets.dedup.keys import Keys, Numbers, mixed, schema_of
from crawl.buckets.dedup.records import slices_and_rows
from crawl.buckets.exchange import Outbox, Received, RowKind
from crawl.storage.folder import Folder
from crawl.storage.row_files import read_rows, write_rows

EDGES = RowKind("edges", schema_of(node=pa.int64(), other=pa.int64()))
CLUSTERS = RowKind("clusters", schema_of(node=pa.int64(), cluster=pa.int64()))
"""Records that are in a cluster, and the least of it."""


@dataclass(frozen=True)
class ComponentsJob:
    """What every task of the steps knows."""

    scratch: Folder
    """Where the files with edges are."""
    destinations: int


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


def write_edges(scratch: Folder, ones: Numbers, others: Numbers) -> str | None:
    """The name of a file with edges that connect the same; None where there is none."""
    nodes, centres = contract(ones, others)
    if len(nodes) == 0:
        return None
    return write_rows(scratch, "edges", pa.table([nodes, centres], schema=EDGES.schema))


def send_edges(job: ComponentsJob, name: str, outbox: Outbox) -> None:
    """Sends each edge of a file to both of its ends."""
    rows = read_rows(job.scratch, name)
    _send_both(job, rows["node"].to_numpy(), rows["other"].to_numpy(), outbox)


def large_star(job: ComponentsJob, destination: int, received: Received, outbox: Outbox) -> None:
    """Each record hands the least that it knows to its greater neighbours."""
    nodes, least = _least_known(received)
    for table in received.tables(EDGES):
        node, other = table["node"].to_numpy(), table["other"].to_numpy()
        greater = other > node
        known = least[np.searchsorted(nodes, node[greater])]
        _send(job, other[greater], known, outbox)


def small_star(job: ComponentsJob, destination: int, received: Received, outbox: Outbox) -> int:
    """Each record hands the least that it knows to its lesser neighbours; returns a sum that is
    the same when nothing changes any more."""
    nodes, least = _least_known(received)
    inner = nodes != least
    total = _send_both(job, nodes[inner], least[inner], outbox)
    for table in received.tables(EDGES):
        node, other = table["node"].to_numpy(), table["other"].to_numpy()
        known = least[np.searchsorted(nodes, node)]
        further = other != known
        total += _send_both(job, other[further], known[further], outbox)
    return total % (1 << 64)


def send_clusters(job: ComponentsJob, destination: int, received: Received, outbox: Outbox) -> None:
    """Sends every record of a star what it belongs to, by its slice."""
    nodes, least = _least_known(received)
    rows = pa.table([nodes, least], schema=CLUSTERS.schema)
    slices, _ = slices_and_rows(nodes)
    outbox.send(CLUSTERS, rows, slices)


def _least_known(received: Received) -> tuple[Numbers, Numbers]:
    """The records of a destination, rising, and of each the least of itself and its neighbours:
    block by block, so that a centre with very many is no more than one."""
    nodes = least = np.zeros(0, np.int64)
    for table in received.tables(EDGES):
        node, other = table["node"].to_numpy(), table["other"].to_numpy()
        node = np.concatenate([nodes, node])
        known = np.concatenate([least, np.minimum(other, table["node"].to_numpy())])
        order = np.lexsort((known, node))
        node, known = node[order], known[order]
        first = np.flatnonzero(np.diff(node, prepend=-1))
        nodes, least = node[first], known[first]
    return nodes, least


def _send(job: ComponentsJob, nodes: Numbers, others: Numbers, outbox: Outbox) -> None:
    rows = pa.table([nodes, others], schema=EDGES.schema)
    outbox.send(EDGES, rows, _destinations(job, nodes))


def _send_both(job: ComponentsJob, nodes: Numbers, others: Numbers, outbox: Outbox) -> int:
    _send(job, nodes, others, outbox)
    _send(job, others, nodes, outbox)
    numbers: Keys = mixed(nodes.astype(np.uint64)) * np.uint64(3) + mixed(others.astype(np.uint64))
    return int(mixed(numbers).sum(dtype=np.uint64))


def _destinations(job: ComponentsJob, nodes: Numbers) -> npt.NDArray[np.int32]:
    numbers = mixed(nodes.astype(np.uint64), np.uint64(11))
    return (numbers % np.uint64(job.destinations)).astype(np.int32)
