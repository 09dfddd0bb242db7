"""The rows of the published table of hosts, and the first of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crawl.phases.webgraph.tasks.graph import StoredGraph
from crawl.phases.webgraph.tasks.names import group_names
from crawl.phases.webgraph.tasks.vectors import VectorPiece, read_piece
from crawl.storage.folder import Folder
from crawl.storage.manifest import BucketFile
from crawl.tables.bucket_files import BucketTarget, stored_groups, write_bucket

_RANKED = ("harmonic", "harmonic_pos", "pagerank", "pagerank_pos")


@dataclass(frozen=True)
class HostsTask:
    """Neighbouring files of hosts, and where their ranks are: pieces of vectors, as in
    `_RANKED`."""

    parts: range
    pieces: tuple[VectorPiece, ...]


@dataclass(frozen=True)
class HostsJob:
    """The making of the table of hosts: the graph, where values lie meanwhile, and where the table
    is written."""

    graph: StoredGraph
    scratch: Folder
    target: BucketTarget


def write_hosts(job: HostsJob, task: HostsTask) -> list[BucketFile]:
    """Writes the hosts of a task with all that is known of them."""
    values = [read_piece(job.scratch, piece) for piece in task.pieces]
    begin, _ = job.graph.nodes_of(task.parts)
    files: list[BucketFile] = []
    for part in task.parts:
        rows = _rows(job, part, dict(zip(_RANKED, values, strict=True)), begin)
        files += write_bucket(job.target, part, rows)
    return files


def _rows(
    job: HostsJob, part: int, values: dict[str, np.ndarray[Any, Any]], begin: int
) -> Iterator[pa.Table]:
    schema = job.target.table.schema
    stored = ["host_rev", "pages", "hosts", "inlinks", "outlinks"]
    for first, rows in job.graph.node_groups(part, stored):
        low, high = first - begin, first - begin + rows.num_rows
        columns: dict[str, Any] = {name: rows[name] for name in stored}
        columns["host"] = pa.array(group_names(rows), pa.string())
        for name, column in values.items():
            columns[name] = pa.array(column[low:high]).cast(schema.field(name).type)
        yield pa.table([columns[name] for name in schema.names], schema=schema)


def first_hosts(folder: Folder, count: int, file: BucketFile) -> pa.Table:
    """The hosts of a file that are among the first by harmonic centrality."""
    return pa.concat_tables(
        rows.filter(pc.less_equal(rows["harmonic_pos"], pa.scalar(count)))
        for rows in stored_groups(folder, [file])
    )
