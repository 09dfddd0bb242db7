"""The graph of hosts or domains in Common Crawl's form (nodedumper --format cc).

Steps: vertices, edges, ranks (a task a file or a range each) → join.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from gzip import compress
from shutil import copyfileobj

from crawl.driver.output_folder import SUCCESS, make_room
from crawl.phases.hostgraph.run import require_hostgraph, stored_hostgraph, table_of
from crawl.phases.hostgraph.tasks import common_crawl
from crawl.phases.webgraph.tasks.marks import send_turned
from crawl.phases.webgraph.values import NodeGroup
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.folder import Folder
from crawl.storage.manifest import Snapshot
from crawl.tables.runner import Runner

_COPY_BYTES = 1 << 20
TABLES = (common_crawl.VERTICES, common_crawl.EDGES_FILE, common_crawl.RANKS)
OWN_NAMES = (
    common_crawl.PARTS,
    *(f"{name}{end}" for name in TABLES for end in (".txt.gz", ".parquet")),
)
"""The names of files and folders that a dump writes."""


def run(runner: Runner, crawl_dir: CrawlDir, group: NodeGroup, output: Folder) -> tuple[int, int]:
    """Writes the graph to a folder that has room, anew where it was replaced meanwhile; returns how
    many vertices and edges it has."""

    def write(snapshot: Snapshot) -> tuple[int, int]:
        graph = stored_hostgraph(crawl_dir, group, snapshot)
        return _write(runner, common_crawl.GraphDumpJob(graph, group, output))

    require = partial(require_hostgraph, crawl_dir, group)
    begin_anew = partial(make_room, output, overwrite=True, own=OWN_NAMES)
    return crawl_dir.dataset(table_of(group)).reading(require, write, begin_anew)


def _write(runner: Runner, job: common_crawl.GraphDumpJob) -> tuple[int, int]:
    graph, output = job.graph, job.output
    parts = list(range(len(graph.nodes)))
    addressed = [(part, part) for part in parts]
    vertices = runner.run(partial(common_crawl.write_vertices, job), parts, "nodedumper: vertices")
    turn = partial(send_turned, graph)
    turned = runner.exchange(turn, parts, max(1, len(parts)), "nodedumper: send edges")
    edges = turned.run(partial(common_crawl.write_edges, job), addressed, "nodedumper: edges")
    ranges = -(-graph.node_count // common_crawl.RANKS_AT_ONCE)
    send = partial(common_crawl.send_ranks, job)
    sent = runner.exchange(send, parts, max(1, ranges), "nodedumper: send ranks")
    numbers = [(number, number) for number in range(ranges)]
    ranks = sent.run(partial(common_crawl.write_ranks, job), numbers, "nodedumper: ranks")
    _join(output, common_crawl.VERTICES, vertices)
    _join(output, common_crawl.EDGES_FILE, edges)
    _join(output, common_crawl.RANKS, ranks, common_crawl.header(job))
    output.delete(common_crawl.PARTS)
    output.write(SUCCESS, b"")
    return graph.node_count, graph.edge_count


def _join(output: Folder, table: str, paths: Sequence[str], first: bytes = b"") -> None:
    """Gzip files one behind the other are one."""
    with output.open_write(f"{table}.txt.gz", whole=True) as joined:
        joined.write(compress(first, mtime=0))
        for path in paths:
            with output.open_read(path) as stream:
                copyfileobj(stream, joined, _COPY_BYTES)
