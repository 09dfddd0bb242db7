"""One page of the link graph, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crawl.errors import StorageError
from crawl.model.derived_tables import WEBGRAPH, WEBGRAPH_OUTLINKS
from crawl.phases.linkrank.run import require_graph
from crawl.phases.webgraph.tasks.graph import StoredGraph, outlinks_view
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.folder import Folder
from crawl.storage.layout import bucket_of
from crawl.storage.manifest import BucketFile, Snapshot
from crawl.storage.parquet import open_table, read_groups
from crawl.tables.lookup import find_rows, may_hold
from crawl.urls.parse import host_of

Numbers = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class NodeView:
    """What the link graph knows of a page."""

    url: str
    node: int
    """Its number."""
    inlinks: int
    outlinks: int
    score: float | None
    """None where the graph has not been ranked."""
    linked_from: tuple[str, ...] = ()
    """Some of the pages that link to it."""
    links_to: tuple[str, ...] = ()
    """Some of the pages that it links to."""


def find_node(directory: CrawlDir, url: str, links: int = 0) -> NodeView | None:
    """What the link graph knows of a page, by a few row groups; with so many of its links."""
    dataset = directory.dataset(WEBGRAPH)
    return dataset.reading(
        partial(require_graph, directory),
        lambda snapshot: _find(dataset.folder, snapshot, url, links),
    )


def _find(folder: Folder, snapshot: Snapshot, url: str, links: int) -> NodeView | None:
    graph = StoredGraph.of(folder, snapshot)
    file = snapshot.file_for(bucket_of(host_of(url) or "", snapshot.buckets), url)
    if file is None:
        return None
    place_and_row = _row_of(folder, file, url)
    if place_and_row is None:
        return None
    place, row = place_and_row
    part = snapshot.files.index(file)
    first, _ = graph.range_of(part)
    number = first + place
    linked_from: tuple[str, ...] = ()
    links_to: tuple[str, ...] = ()
    if links:
        linked_from = _urls_of(graph, _sources(graph, part, number, links))
        rows = find_rows(WEBGRAPH_OUTLINKS, folder, outlinks_view(snapshot), url)
        links_to = () if rows is None else tuple(rows["outlinks"][0].as_py()[:links])
    return NodeView(
        url,
        number,
        row["inlinks"][0].as_py(),
        row["outlinks"][0].as_py(),
        _score(graph, part, place) if graph.scores else None,
        linked_from,
        links_to,
    )


def _row_of(folder: Folder, file: BucketFile, url: str) -> tuple[int, pa.Table] | None:
    """The place of a URL in a file of nodes, and its row."""
    before = 0
    with open_table(folder, file.path, size=file.bytes) as source:
        for group in range(source.num_row_groups):
            about = source.metadata.row_group(group)
            if may_hold(about.column(0), url):
                urls = read_groups(source, [group], ["url"])["url"]
                place = int(pc.index(urls, pa.scalar(url)).as_py())
                if place >= 0:
                    return before + place, read_groups(source, [group]).slice(place, 1)
            before += about.num_rows
    return None


def _score(graph: StoredGraph, part: int, place: int) -> float:
    path = graph.scores[part].path
    scores = _rows_at(graph.folder, path, np.array([place]), "score")
    if not scores:
        raise StorageError(f"{graph.folder.path(path)} has too few rows")
    return float(scores[0])


def _rows_at(folder: Folder, path: str, places: Numbers, column: str) -> list[Any]:
    """A column's values in some rows of a file, in the order of the file; the other groups of rows
    are not read."""
    values: list[Any] = []
    first = 0
    with open_table(folder, path) as source:
        for group in range(source.num_row_groups):
            rows = source.metadata.row_group(group).num_rows
            here = places[(places >= first) & (places < first + rows)] - first
            if len(here):
                values += read_groups(source, [group], [column])[column].take(here).to_pylist()
            first += rows
    return values


def _sources(graph: StoredGraph, part: int, number: int, most: int) -> list[int]:
    """The numbers of pages that link to a node."""
    sources: list[int] = []
    for block in graph.blocks(part):
        low, high = np.searchsorted(block.destinations, [number, number + 1])
        sources += block.sources[low:high].tolist()
        if len(sources) >= most or block.destinations[-1] > number:
            break
    return sources[:most]


def _urls_of(graph: StoredGraph, numbers: list[int]) -> tuple[str, ...]:
    """The URLs of some nodes, in order of their numbers."""
    nodes = np.array(numbers, dtype=np.int64)
    parts = np.searchsorted(graph.bounds, nodes, side="right") - 1
    return tuple(
        str(url)
        for part in np.unique(parts).tolist()
        for url in _rows_at(
            graph.folder,
            graph.nodes[part].path,
            nodes[parts == part] - graph.range_of(part)[0],
            "url",
        )
    )
