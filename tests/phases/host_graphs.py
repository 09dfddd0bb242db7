"""Graphs of hosts and domains of small crawls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.phases.hostgraph import run as hostgraph
from crawl.phases.hostgraph.options import HostGraphOptions
from crawl.phases.hostgraph.run import HostGraphResult
from crawl.phases.webgraph.values import NodeGroup
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.parquet import open_table
from crawl.tables.runner import InProcess
from tests.phases.linked_pages import ALL_LINKS, add_parse, build

SEGMENT = "20260101000000"


def make_host_graph(
    directory: CrawlDir, group: NodeGroup = NodeGroup.HOST, **options: Any
) -> HostGraphResult:
    wanted = HostGraphOptions(group, **options)
    return hostgraph.run(InProcess(), directory, Config(), wanted, SystemClock())


def crawl_of_links(
    folder: Path, pairs: list[tuple[str, str]], buckets: int = 2, file_rows: int = 1000
) -> CrawlDir:
    directory = CrawlDir(str(folder / "crawl"))
    pages: dict[str, list[str]] = {}
    for of, to in pairs:
        pages.setdefault(of, []).append(to)
    add_parse(directory, SEGMENT, pages)
    build(directory, crawldb__file__rows=file_rows, crawldb__buckets=buckets, **ALL_LINKS)
    return directory


def rows_of(directory: CrawlDir, group: NodeGroup) -> list[dict[str, Any]]:
    """All rows, in the order of the files."""
    snapshot = hostgraph.require_hostgraph(directory, group)
    folder = directory.dataset(hostgraph.table_of(group)).folder
    rows: list[dict[str, Any]] = []
    for file in snapshot.files:
        with open_table(folder, file.path) as source:
            rows += source.read().to_pylist()
    return rows
