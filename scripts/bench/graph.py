"""webgraph and linkrank on a made link graph, beside the same iterations by scipy in memory and by
a loop in one process that streams the same Parquet files. See README.md beside this file."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse
from fetch import Goal, show_goals
from process_tree import worker_peak_mib
from rich.console import Console

from crawl.api.crawl import open as open_crawl
from crawl.graph.kernels.kernel import NodeRange
from crawl.graph.kernels.link_rank import LinkRank
from crawl.graph.kernels.page_rank import rank_step
from crawl.model.derived_tables import WEBGRAPH
from crawl.model.tables import PARSE_DATA
from crawl.phases.webgraph.tasks.graph import StoredGraph
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.folder import attempt_name
from crawl.storage.parquet import open_writer
from crawl.storage.segments import FETCH, GENERATE, PartFile, PartManifest
from crawl.storage.segments import PARSE_DATA as PART

SEGMENT = "20260101000000"
AT = 1_700_000_000_000
ALL_LINKS = {
    f"link.ignore.{name}": False
    for name in ("internal.host", "internal.domain", "limit.page", "limit.domain")
}
TIMES_STREAM = 2.0
TASK_MIB = 1024
DIFFERENCE = 1e-6
_FILES = 8
_PAGES_PER_HOST = 200


def make_links(nodes: int, edges: int, exponent: float, seed: int) -> tuple[Any, Any]:
    """Sources and targets: targets by a power law of their number, sources evenly."""
    chance = np.random.default_rng(seed)
    targets = (nodes * chance.random(edges) ** exponent).astype(np.int64)
    order = chance.permutation(nodes)  # the most linked pages are on any host
    return np.sort(chance.integers(0, nodes, edges)), order[targets]


def urls_of(numbers: Any) -> pa.Array[Any]:
    hosts = numbers // _PAGES_PER_HOST
    texts = [f"http://www.host{h}.org/page/{n}" for h, n in zip(hosts, numbers, strict=True)]
    return pa.array(texts, pa.string())


def write_segment(directory: CrawlDir, nodes: int, sources: Any, targets: Any) -> None:
    """A parsed segment with these links."""
    segment = directory.segments.segment(SEGMENT)
    folder = segment.part_folder(PART)
    urls = urls_of(np.arange(nodes))
    written = []
    bounds = np.linspace(0, nodes, _FILES + 1).astype(np.int64)
    for number in range(_FILES):
        path = attempt_name(f"part-{number:05d}")
        with open_writer(folder, path, PARSE_DATA.schema, 5000) as writer:
            for first in range(int(bounds[number]), int(bounds[number + 1]), 20_000):
                end = min(first + 20_000, int(bounds[number + 1]))
                writer.write(_rows(urls, first, end, sources, targets))
        written.append(PartFile(number, path, writer.rows, folder.size(path) or 0))
    for part in (GENERATE, FETCH):
        segment.publish(part, PartManifest((), AT))
    segment.publish(PART, PartManifest(tuple(written), AT))


def _rows(urls: pa.Array[Any], first: int, end: int, sources: Any, targets: Any) -> pa.Table:
    low, high = np.searchsorted(sources, [first, end])
    offsets = np.searchsorted(sources[low:high], np.arange(first, end + 1)).astype(np.int32)
    links = urls.take(pa.array(targets[low:high]))
    empty = pa.array([""] * len(links))
    fields = [PARSE_DATA.schema.field("outlinks").type.value_type.field(n) for n in range(4)]
    structs = pa.StructArray.from_arrays([links, empty, empty, empty], fields=fields)
    count = end - first
    columns: dict[str, Any] = {name: pa.array([""] * count) for name in PARSE_DATA.names}
    columns |= {
        "url": urls.slice(first, count),
        "status": pa.array(["success"] * count),
        "signature": pa.nulls(count, pa.binary()),
        "fetch_time": pa.array([AT] * count, PARSE_DATA.schema.field("fetch_time").type),
        "outlinks": pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), structs),
        "metadata": pa.array([[]] * count, PARSE_DATA.schema.field("metadata").type),
    }
    return pa.table(list(columns.values()), schema=PARSE_DATA.schema)


def all_nodes(graph: StoredGraph) -> NodeRange:
    """All nodes as one range."""
    degrees = np.concatenate(
        [graph.counts_of(part, "outlinks") for part in range(len(graph.nodes))]
    )
    return NodeRange(0, graph.node_count, graph.node_count, degrees)


def by_scipy(graph: StoredGraph, kernel: LinkRank) -> tuple[Any, dict[str, float]]:
    """The same iterations with all edges in memory."""
    began = time.perf_counter()
    blocks = [block for part in range(len(graph.nodes)) for block in graph.blocks(part)]
    to = np.concatenate([block.destinations for block in blocks])
    of = np.concatenate([block.sources for block in blocks])
    count = graph.node_count
    matrix = scipy.sparse.csr_array((np.ones(len(to)), (to, of)), shape=(count, count))
    built = time.perf_counter()
    nodes = all_nodes(graph)
    scores = kernel.initial(nodes)
    for _ in range(kernel.most_iterations):
        scores = kernel.settle(matrix @ kernel.shares(scores, nodes), nodes, {})
    return scores, {"build": built - began, "iterations": time.perf_counter() - built}


def by_stream(graph: StoredGraph, kernel: LinkRank) -> Any:
    """The same iterations in one process, that reads the files every time."""
    nodes = all_nodes(graph)
    scores = kernel.initial(nodes)
    for _ in range(kernel.most_iterations):
        shares = kernel.shares(scores, nodes)
        given = np.zeros(graph.node_count)
        for part in range(len(graph.nodes)):
            first, end = graph.range_of(part)
            for block in graph.blocks(part):
                given[first:end] += rank_step(block, first, end, shares)
        scores = kernel.settle(given, nodes, {})
    return scores


def timed(function: Callable[[], Any]) -> tuple[Any, float]:
    began = time.perf_counter()
    found = function()
    return found, time.perf_counter() - began


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--nodes", type=int, default=2_000_000)
    options.add_argument("--edges", type=int, default=20_000_000)
    options.add_argument("--exponent", type=float, default=3.0, help="of the power law")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--folder", help="where to work; a temporary one by default")
    given = options.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        directory = CrawlDir(f"{folder}/crawl")
        sources, targets = make_links(given.nodes, given.edges, given.exponent, given.seed)
        write_segment(directory, given.nodes, sources, targets)
        del sources, targets
        seconds: dict[str, float] = {}
        with open_crawl(directory.address, settings=ALL_LINKS, master="local[*]") as web:
            web._engine.open_session()  # its start is none of the work
            built, seconds["webgraph"] = timed(web.webgraph)
            ranked, seconds["linkrank"] = timed(web.linkrank)
            dataset = directory.dataset(WEBGRAPH)
            graph = StoredGraph.of(dataset.folder, dataset.require_current())
            stored = np.concatenate([graph.scores_of(part) for part in range(len(graph.nodes))])
            pageranked, seconds["pagerank"] = timed(lambda: web.linkrank(pagerank=True))
            _, seconds["hostgraph"] = timed(web.hostgraph)
            peak = worker_peak_mib(os.getpid())
        seconds["linkrank: iterations"] = ranked.seconds["iterations"]
        streamed, seconds["stream"] = timed(lambda: by_stream(graph, LinkRank()))
        in_memory, parts = by_scipy(graph, LinkRank())
        seconds |= {f"scipy: {name}": spent for name, spent in parts.items()}
        size = sum(file.bytes for file in graph.edges.values())
        answer: dict[str, Any] = {
            "nodes": graph.node_count,
            "edges": graph.edge_count,
            "bytes_an_edge": round(size / max(1, graph.edge_count), 2),
            "seconds": {name: round(spent, 2) for name, spent in seconds.items()},
            "steps": built.seconds,
            "pagerank_iterations": pageranked.counters["iterations"],
            "worker_peak_mib": round(peak),
            "linkrank_to_stream": round(seconds["linkrank: iterations"] / seconds["stream"], 2),
            "difference_to_stream": float(np.abs(stored - streamed).max()),
            "difference_to_scipy": float(np.abs(stored - in_memory).max()),
        }
    goals = goals_of(answer)
    answer["goals"] = [asdict(goal) | {"met": goal.met} for goal in goals]
    print(json.dumps(answer, indent=1))
    show_goals(goals, Console(stderr=True))
    return 0 if all(goal.met for goal in goals) else 1


def goals_of(answer: dict[str, Any]) -> list[Goal]:
    """What was to be shown, by what was measured."""
    return [
        Goal(text, answer[name], wanted, at_most=True)
        for name, text, wanted in (
            ("linkrank_to_stream", "ten iterations × the streaming loop", TIMES_STREAM),
            ("worker_peak_mib", "MiB of the largest worker", TASK_MIB),
            ("difference_to_stream", "scores: difference to the streaming loop", DIFFERENCE),
            ("difference_to_scipy", "scores: difference to scipy", DIFFERENCE),
        )
    ]


if __name__ == "__main__":
    sys.exit(main())
