"""Hosts or domains become nodes with numbers, in the order of their names backwards.

Each file of pages has its hosts numbered by itself (`LocalHosts`). A sample of names parts them
into ranges; there the same names of all files meet, are sorted, and get their place, which goes
back to the files. So a name travels once for each file that has it, and links never do as text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from crawl.counters import Counters
from crawl.model.arrow import as_array, optional_schema, strings
from crawl.phases.webgraph.tasks.graph import StoredGraph
from crawl.phases.webgraph.tasks.nodes import numbers_of, send_places
from crawl.phases.webgraph.tasks.vectors import VectorPiece, write_piece
from crawl.phases.webgraph.values import NodeGroup
from crawl.storage.folder import Folder, attempt_name
from crawl.storage.layout import distinct, number_of, sorted_distinct
from crawl.storage.parquet import open_writer
from crawl.tables.exchange import Outbox, Received, RowKind
from crawl.tables.ranges import NewRows
from crawl.tables.slices import places_among
from crawl.urls.backwards import backwards
from crawl.urls.domains import registered_domain

Numbers = npt.NDArray[np.int64]

_NAMES_PER_RANGE = 1 << 18
"""That are worth a task of their own."""
_MAX_SAMPLE = 1_024
"""Names of a file that the driver hears of."""

_NUMBERS: dict[str, pa.DataType] = {
    **dict.fromkeys(("host", "pages"), pa.int64()),
    **dict.fromkeys(("file", "id"), pa.int32()),
}
HOSTS = RowKind("hosts", optional_schema({"name": pa.string(), **_NUMBERS}))
"""The name of a host's group, a hash of the host, its pages in a file and its number there."""

NAMED = optional_schema({"host_rev": pa.string(), "pages": pa.int64(), "hosts": pa.int64()})
"""A group as far as its names tell: without its links."""


@dataclass(frozen=True)
class NamesJob:
    """The sending of the names of hosts or domains to their ranges: the graph, the kind of name,
    and where ranges begin."""

    graph: StoredGraph
    group: NodeGroup
    bounds: tuple[str, ...] = ()
    """The first name of every range but the first."""


@dataclass(frozen=True, eq=False)
class LocalHosts:
    """The hosts of a file of pages."""

    hosts: tuple[str, ...]
    of_nodes: Numbers
    """The number of each page's host; -1 where it has none."""

    @classmethod
    def of(cls, graph: StoredGraph, part: int) -> LocalHosts:
        columns = [as_array(rows["host"]) for _, rows in graph.node_groups(part, ["host"])]
        values, places = distinct(pa.chunked_array(columns, pa.string()))
        names = strings(values)
        numbers = {name: number for number, name in enumerate(filter(None, names))}
        by_place = np.array([numbers.get(name, -1) for name in names], np.int64)
        return cls(tuple(numbers), by_place[places])

    def groups(self, group: NodeGroup) -> list[str]:
        """The name backwards of each host's group."""
        of_host = registered_domain if group is NodeGroup.DOMAIN else str
        return [backwards(of_host(host)) for host in self.hosts]


@dataclass(frozen=True, slots=True)
class SampleResult:
    """Some names of a file, and how many it has."""

    names: tuple[str, ...]
    count: int


def sample_names(job: NamesJob, part: int) -> SampleResult:
    """Names of a file at even distances."""
    names = sorted(set(LocalHosts.of(job.graph, part).groups(job.group)), key=str.encode)
    step = -(-len(names) // _MAX_SAMPLE) if names else 1
    return SampleResult(tuple(names[::step]), len(names))


def bounds_of(samples: Sequence[SampleResult]) -> tuple[str, ...]:
    """Names that part all of them into ranges of a task's work."""
    weighted = sorted(
        (name.encode(), sample.count / len(sample.names))
        for sample in samples
        for name in sample.names
    )
    if not weighted:
        return ()
    sums = np.cumsum([weight for _, weight in weighted])
    ranges = -(-int(sums[-1]) // _NAMES_PER_RANGE)
    cuts = np.searchsorted(sums, sums[-1] * np.arange(1, ranges) / ranges)
    bounds = {weighted[place][0] for place in cuts.tolist()} - {weighted[0][0]}
    return tuple(name.decode() for name in sorted(bounds))


def send_names(job: NamesJob, part: int, outbox: Outbox) -> Counters:
    """Sends the hosts of a file to the ranges of their names."""
    local = LocalHosts.of(job.graph, part)
    count = len(local.hosts)
    has_host = local.of_nodes >= 0
    names = pa.array(local.groups(job.group), pa.string())
    hashes = np.array([number_of(host) for host in local.hosts], np.uint64).view(np.int64)
    rows = pa.table(
        [
            names,
            hashes,
            np.bincount(local.of_nodes[has_host], minlength=count),
            np.full(count, part, dtype=np.int32),
            np.arange(count, dtype=np.int32),
        ],
        schema=HOSTS.schema,
    )
    outbox.send(HOSTS, rows, places_among(names, job.bounds))
    return Counters(pages=len(local.of_nodes), pages_without_host=int(np.count_nonzero(~has_host)))


@dataclass(frozen=True, slots=True)
class NamesTaskResult:
    """The names of a range in a file of the job's."""

    path: str
    rows: int


def write_names(
    scratch: Folder, number: int, received: Received, outbox: Outbox
) -> NamesTaskResult:
    """Writes the names of a range in their order, and tells the files of pages their places."""
    path, place = attempt_name(f"names-{number:05d}"), 0
    with open_writer(scratch, path, NAMED) as writer:
        for new in NewRows.received(received, HOSTS, "name").ranges():
            rows = new.rows
            if rows.num_rows == 0:
                continue
            names, places = sorted_distinct(rows["name"])
            pages = np.bincount(places, weights=rows["pages"].to_numpy())
            hosts = _distinct_counts(places, rows["host"].to_numpy(), len(names))
            writer.write(pa.table([names, pages.astype(np.int64), hosts], schema=NAMED))
            send_places(rows, number, place + places, outbox)
            place += len(names)
    return NamesTaskResult(path, place)


def _distinct_counts(places: Numbers, hosts: Numbers, count: int) -> Numbers:
    """How many different hosts each place has."""
    order = np.lexsort((hosts, places))
    of, host = places[order], hosts[order]
    is_new = np.ones(len(order), dtype=np.bool_)
    is_new[1:] = (of[1:] != of[:-1]) | (host[1:] != host[:-1])
    return np.bincount(of[is_new], minlength=count)


@dataclass(frozen=True)
class NumberJob:
    """The numbering of pages by their hosts or domains: the graph, where the numbers go, and the
    first number of every range."""

    graph: StoredGraph
    scratch: Folder
    offsets: Numbers
    """The number of the first group of every range."""


def number_pages(job: NumberJob, part: int, received: Received) -> VectorPiece:
    """The number of the group of each page of a file, -1 for none: a piece of a vector."""
    local = LocalHosts.of(job.graph, part)
    numbers = np.append(numbers_of(len(local.hosts), job.offsets, received), -1)
    first, _ = job.graph.range_of(part)
    groups = numbers[local.of_nodes].astype(np.float64)  # exact up to 2 ** 53
    return write_piece(job.scratch, f"groups-{first}", first, groups)


def group_names(rows: pa.Table) -> list[str]:
    """The names of groups the right way round."""
    return [backwards(name) for name in strings(rows["host_rev"])]
