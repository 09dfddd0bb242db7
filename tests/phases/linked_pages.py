"""Parsed segments made of links alone, and the link graph that they should make, by plain
Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.driver.phase_run import Published
from crawl.model.arrow import strings
from crawl.model.derived_tables import WEBGRAPH
from crawl.model.tables import PARSE_DATA
from crawl.phases.webgraph import run as webgraph
from crawl.phases.webgraph.options import WebGraphOptions
from crawl.phases.webgraph.tasks.graph import StoredGraph
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.folder import attempt_name
from crawl.storage.parquet import open_writer
from crawl.storage.segments import FETCH, GENERATE, PartFile, PartManifest, Segment
from crawl.storage.segments import PARSE_DATA as PART
from crawl.tables.runner import InProcess
from tests.phases.made import NOW

ALL_LINKS: dict[str, Any] = {
    f"link.ignore.{name}": False
    for name in ("internal.host", "internal.domain", "limit.page", "limit.domain")
}
"""Settings by which every link counts."""


def parse_rows(
    pages: Mapping[str, Sequence[str]], at: int = NOW, status: str = "success", tag: str = "a"
) -> pa.Table:
    """Rows of parse_data by what pages link to, by elements of that tag."""
    rows: list[dict[str, Any]] = [
        {
            **dict.fromkeys(PARSE_DATA.names, ""),
            "url": url,
            "status": status,
            "signature": None,
            "fetch_time": at,
            "metadata": {},
            "outlinks": [{"url": to, "anchor": "", "rel": "", "tag": tag} for to in links],
        }
        for url, links in pages.items()
    ]
    return pa.Table.from_pylist(rows, schema=PARSE_DATA.schema)


def add_parse(
    directory: CrawlDir,
    name: str,
    pages: Mapping[str, Sequence[str]],
    *,
    at: int = NOW,
    files: int = 2,
    status: str = "success",
    tag: str = "a",
) -> Segment:
    """A segment of which all that is known is what its pages link to."""
    segment = directory.segments.segment(name)
    rows = parse_rows(pages, at, status, tag)
    written = []
    for number in range(files):
        path = attempt_name(f"part-{number:05d}")
        share = rows.take(np.arange(number, rows.num_rows, files))
        folder = segment.part_folder(PART)
        with open_writer(folder, path, PARSE_DATA.schema, 3) as writer:
            writer.write(share)
        written.append(PartFile(number, path, share.num_rows, folder.size(path) or 0))
    for part in (GENERATE, FETCH):
        segment.publish(part, PartManifest((), NOW))
    segment.publish(PART, PartManifest(tuple(written), NOW))
    return segment


def build(
    directory: CrawlDir, options: WebGraphOptions | None = None, **settings: object
) -> Published:
    """Runs webgraph in this process."""
    config = Config.of({name.replace("__", "."): value for name, value in settings.items()})
    return webgraph.run(InProcess(), directory, config, options or WebGraphOptions(), SystemClock())


def graph_of(directory: CrawlDir, **options: bool) -> StoredGraph:
    """The link graph as it is stored."""
    dataset = directory.dataset(WEBGRAPH)
    return StoredGraph.of(dataset.folder, dataset.require_current(), **options)


def nodes_of(graph: StoredGraph) -> dict[str, tuple[int, int, int]]:
    """Number, inlinks and outlinks of every node."""
    found: dict[str, tuple[int, int, int]] = {}
    for part in range(len(graph.nodes)):
        for first, rows in graph.node_groups(part, ["url", "inlinks", "outlinks"]):
            for place, row in enumerate(rows.to_pylist()):
                found[row["url"]] = (first + place, row["inlinks"], row["outlinks"])
    return found


def edges_into(graph: StoredGraph, part: int) -> list[tuple[int, int]]:
    """(source, destination) of the edges into the nodes of a file, in their order."""
    blocks = [zip(*(ends.tolist() for ends in block), strict=True) for block in graph.blocks(part)]
    return list(chain.from_iterable(blocks))


def links_of(graph: StoredGraph) -> list[tuple[str, str]]:
    """(page, what it links to) of every edge, in the order in which they are stored."""
    urls = [
        url
        for part in range(len(graph.nodes))
        for _, rows in graph.node_groups(part, ["url"])
        for url in strings(rows["url"])
    ]
    found = []
    for part in range(len(graph.nodes)):
        pairs = [(to, of) for of, to in edges_into(graph, part)]
        assert pairs == sorted(set(pairs)), "edges are sorted, and there once"
        first, end = graph.range_of(part)
        assert all(first <= to < end for to, _ in pairs)
        found += [(urls[of], urls[to]) for to, of in pairs]
    return found
