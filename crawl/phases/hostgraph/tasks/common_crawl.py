"""The graph of hosts or domains in the form in which Common Crawl publishes theirs.

    vertices.txt.gz   id TAB name backwards (TAB number of hosts, of domains); by name
    edges.txt.gz      id of the one that links TAB id of the other; by both
    ranks.txt.gz      with a header; by harmonic centrality

Each task writes its share as a gzip file of its own; these, one behind the other, are one gzip
file. The same columns are written as Parquet, a folder a table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from gzip import GzipFile
from typing import IO, Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from crawl.model.arrow import strings
from crawl.phases.webgraph.tasks.edges import EDGES, EdgesTask, edge_ranges
from crawl.phases.webgraph.tasks.graph import StoredGraph
from crawl.phases.webgraph.values import NodeGroup
from crawl.printable import printable
from crawl.storage.folder import Folder
from crawl.storage.parquet import open_writer
from crawl.tables.exchange import Outbox, Received, RowKind

VERTICES, EDGES_FILE, RANKS = "vertices", "edges", "ranks"
PARTS = "parts"
"""A folder for what is not joined yet."""
RANKS_AT_ONCE = 1 << 18
"""Lines of ranks that one task sorts."""

_Columns = dict[str, pa.DataType]
_VERTEX: _Columns = {"id": pa.int64(), "host_rev": pa.string()}
_RANK: _Columns = {
    "harmonicc_pos": pa.int64(),
    "harmonicc_val": pa.float64(),
    "pr_pos": pa.int64(),
    "pr_val": pa.float64(),
    "host_rev": pa.string(),
}
_N_HOSTS: _Columns = {"n_hosts": pa.int64()}
_EDGE = pa.schema([("from_id", pa.int64()), ("to_id", pa.int64())])
_COLUMNS = {
    "harmonicc_pos": "harmonic_pos",
    "harmonicc_val": "harmonic",
    "pr_pos": "pagerank_pos",
    "pr_val": "pagerank",
    "n_hosts": "hosts",
}
"""Their names, and ours."""
RANKED = RowKind("ranked", pa.schema(_RANK | _N_HOSTS))


@dataclass(frozen=True)
class GraphDumpJob:
    """A dump of the host or domain graph in Common Crawl's form, and where it goes."""

    graph: StoredGraph
    group: NodeGroup
    output: Folder

    def schema(self, columns: _Columns) -> pa.Schema:
        """Columns, with the number of hosts where these are domains."""
        return pa.schema(columns | _N_HOSTS if self.group is NodeGroup.DOMAIN else columns)


def header(job: GraphDumpJob) -> bytes:
    """The first line of the ranks."""
    return "\t".join(f"#{name}" for name in job.schema(_RANK).names).encode() + b"\n"


def write_vertices(job: GraphDumpJob, part: int) -> str:
    """The names of a file's hosts, which are in order."""

    def tables() -> Iterator[pa.Table]:
        schema = job.schema(_VERTEX)
        for first, rows in job.graph.node_groups(part, ["host_rev", "hosts"]):
            columns: dict[str, Any] = {
                "id": np.arange(first, first + rows.num_rows),
                "host_rev": rows["host_rev"],
                "n_hosts": rows["hosts"],
            }
            yield pa.table([columns[name] for name in schema.names], schema=schema)

    return _written(job, VERTICES, part, job.schema(_VERTEX), tables())


def send_ranks(job: GraphDumpJob, part: int, outbox: Outbox) -> None:
    """Sends the ranks of a file's hosts to where they belong by their place."""
    columns = ["host_rev", *_COLUMNS.values()]
    for _, rows in job.graph.node_groups(part, columns):
        table = pa.table(
            [rows[_COLUMNS.get(name, name)] for name in RANKED.schema.names], schema=RANKED.schema
        )
        outbox.send(RANKED, table, (table["harmonicc_pos"].to_numpy() - 1) // RANKS_AT_ONCE)


def write_ranks(job: GraphDumpJob, number: int, received: Received) -> str:
    """The ranks of so many hosts, by their place."""
    schema = job.schema(_RANK)
    rows = received.rows(RANKED).select(schema.names)
    order = np.argsort(rows["harmonicc_pos"].to_numpy())
    return _written(job, RANKS, number, schema, [rows.take(order)])


def write_edges(job: GraphDumpJob, part: int, received: Received) -> str:
    """The edges that leave the hosts of a file, which were sent here turned round."""
    task = EdgesTask(part, *job.graph.range_of(part))

    def tables() -> Iterator[pa.Table]:
        for sources, destinations, _ in edge_ranges(task, received, EDGES):
            order = np.lexsort((destinations, sources))
            yield pa.table([sources[order], destinations[order]], schema=_EDGE)

    return _written(job, EDGES_FILE, part, _EDGE, tables())


def _written(
    job: GraphDumpJob, table: str, number: int, schema: pa.Schema, rows: Iterable[pa.Table]
) -> str:
    """Writes a share as text and as Parquet; returns the path of the text."""
    path = f"{PARTS}/{table}-{number:05d}.txt.gz"
    columns = f"{table}.parquet/part-{number:05d}.parquet"
    with (
        open_writer(job.output, columns, schema, whole=True) as writer,
        job.output.open_write(path, whole=True) as stream,
        GzipFile("", "wb", compresslevel=6, fileobj=stream, mtime=0) as packed,
    ):
        for some in rows:
            writer.write(some)
            _write_text(cast("IO[bytes]", packed), some)
    return path


def _write_text(stream: IO[bytes], rows: pa.Table) -> None:
    place = rows.schema.get_field_index("host_rev")
    if place >= 0:
        # a name comes from the network: it must not break the line
        names = [printable(name).replace('"', "%22") for name in strings(rows["host_rev"])]
        rows = rows.set_column(place, "host_rev", pa.array(names, pa.string()))
    options = pa_csv.WriteOptions(include_header=False, delimiter="\t", quoting_style="none")
    pa_csv.write_csv(rows, stream, options)
