"""A crawl with a LinkDb, a link graph with scores, graphs of hosts and domains and a HostDb, each
of one segment of two: what commands find there, and what they make of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from crawl.config import Config
from crawl.errors import DamagedFile
from crawl.model.content import Content
from crawl.model.derived_tables import DOMAINGRAPH, HOSTDB, HOSTGRAPH, LINKDB, WEBGRAPH
from crawl.model.status import Status
from crawl.model.tables import CRAWLDB
from crawl.operations.work import Work
from crawl.phases.hostgraph import run as hostgraph
from crawl.phases.hostgraph.options import HostGraphOptions
from crawl.phases.linkrank import run as linkrank
from crawl.phases.linkrank.options import LinkRankOptions
from crawl.phases.webgraph.options import WebGraphOptions
from crawl.phases.webgraph.values import NodeGroup
from crawl.spark.engine import SparkEngine
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.parquet import open_table
from crawl.tables.runner import InProcess, Runner
from crawl.testing.clock import ManualClock
from tests.phases.hosts import update_hosts
from tests.phases.linked_pages import build
from tests.phases.linking import invert
from tests.phases.made import NOW, datum, make_crawldb
from tests.phases.made_segments import link, make_segment

URLS = [f"http://{host}.org/{n}" for host in ("a", "b", "c") for n in range(8)]
TARGET = URLS[9]
FIRST, SECOND, LISTED = "20260101000000", "20260102000000", "20260103000000"
READERS: list[list[str]] = [
    ["readlinkdb", "{}", "--url", TARGET, "--json"],
    ["readlinkdb", "{}", "--dump", "{out}", "--format", "text"],
    ["nodereader", "{}", TARGET, "--links", "5", "--json"],
    ["nodedumper", "{}", "--inlinks", "--top", "30"],
    ["nodedumper", "{}", "--scores", "--top", "30"],
    ["nodedumper", "{}", "--outlinks", "--group", "host", "--output", "{out}"],
    ["nodedumper", "{}", "--group", "host", "--format", "cc", "--output", "{out}"],
    ["nodedumper", "{}", "--group", "domain", "--format", "cc", "--output", "{out}"],
    ["readhostdb", "{}", "--host", "b.org", "--json"],
    ["readhostdb", "{}", "--top", "5", "--json"],
    ["readhostdb", "{}", "--dump", "{out}", "--format", "json"],
    ["simulate", "{}", LISTED, "--json"],
    ["domainstats", "{}", "--json"],
    ["crawlcomplete", "{}", "--json"],
    ["protocolstats", "{}", "--json"],
    ["linkstats", "{}", "--json"],
    ["dust", "{}", "--json", "--min-support", "2", "--min-values", "2"],
    ["mirrors", "{}", "--json", "--min-contents", "2"],
]
"""Commands that answer from the tables, which change nothing."""
WRITERS: list[list[str]] = [
    ["invertlinks", "{}", "--no-filter", "--no-normalize"],
    ["mergelinkdb", "{}", "{other}"],
    ["webgraph", "{}"],
    ["linkrank", "{}"],
    ["hostgraph", "{}"],
    ["hostgraph", "{}", "--group", "domain"],
    ["scoreupdater", "{}"],
    ["updatehostdb", "{}"],
    ["dedup", "{}", "--canonical", "--redirects"],
]
"""Commands that publish something."""
SETTINGS = ["-D", "link.ignore.internal.host=false", "-D", "link.ignore.internal.domain=false"]


def make_linked_crawl(address: str) -> CrawlDir:
    """The crawl, in two buckets; its second segment is in none of the tables yet."""
    records = {
        url: datum(
            status=Status.DB_FETCHED,
            signature=bytes([n % 8 % 5]) * 16,
            metadata={"nutch.protocol.code": "200"},
            score=1 + n / 100,
        )
        for n, url in enumerate(URLS)
    }
    directory = make_crawldb(address, records, buckets=2)
    for name, urls in ((FIRST, URLS[:16]), (SECOND, URLS[8:])):
        _add_segment(directory, name, urls)
    make_segment(directory, LISTED, generate=[(url, datum()) for url in URLS[:4]], buckets=2)
    settings: dict[str, Any] = {
        "link.ignore.internal.host": False,
        "link.ignore.internal.domain": False,
    }
    invert(directory, FIRST)
    build(directory, WebGraphOptions((FIRST,)), **settings)
    config = Config.of(settings)
    linkrank.run(InProcess(), directory, config, LinkRankOptions(), ManualClock(NOW))
    for group in NodeGroup:
        hostgraph.run(InProcess(), directory, config, HostGraphOptions(group), ManualClock(NOW))
    update_hosts(directory, FIRST)
    return directory


def _add_segment(directory: CrawlDir, name: str, urls: list[str]) -> None:
    answered = {"_rs_": "120", "nutch.protocol.code": "200"}
    success = datum(status=Status.FETCH_SUCCESS, fetch_time=NOW, metadata=answered)
    make_segment(
        directory,
        name,
        generate=[(url, datum()) for url in urls],
        fetch=[(url, success) for url in urls],
        contents=[Content(url, b"x" * 50, "text/html", 200, NOW, status=33) for url in urls],
        parse=[(url, datum(status=Status.LINKED)) for url in urls],
        pages=[
            {
                "url": url,
                "outlinks": [
                    link(URLS[(URLS.index(url) * 5 + step) % len(URLS)], f"to {step}")
                    for step in (1, 4, 9)
                ],
            }
            for url in urls
        ],
        buckets=2,
    )


DAMAGED = "damaged"


def rows_of(directory: CrawlDir) -> dict[str, list[Any]]:
    """What each dataset has, file by file; without what depends on the moment. A file that cannot
    be read is `DAMAGED`."""
    found: dict[str, list[Any]] = {}
    for table in (CRAWLDB, LINKDB, WEBGRAPH, HOSTGRAPH, DOMAINGRAPH, HOSTDB):
        dataset = directory.dataset(table)
        snapshot = dataset.current()
        for file in snapshot.all_files if snapshot else ():
            try:
                with open_table(dataset.folder, file.path) as source:
                    rows: pa.Table = source.read()
            except DamagedFile:
                found.setdefault(table.name, []).append(DAMAGED)
                continue
            timeless = [
                field.name for field in rows.schema if not pa.types.is_timestamp(field.type)
            ]
            found.setdefault(table.name, []).append(rows.select(timeless).to_pylist())
    return found


@contextmanager
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Commands that would start Spark work here."""

    @contextmanager
    def runner(
        self: SparkEngine, work: Work, *, rows: int | None = None, quiet: bool = False
    ) -> Iterator[Runner]:
        yield InProcess()

    with monkeypatch.context() as patched:
        patched.setattr(SparkEngine, "runner", runner)
        yield


def key_of(command: list[str]) -> str:
    """The command and what of its options decides which dataset it reads or writes."""
    options = {"nodedumper": ("cc", "domain"), "hostgraph": ("domain",)}.get(command[0], ())
    is_graph = command[0] == "hostgraph" or "cc" in command
    return " ".join([command[0], *(word for word in options if is_graph and word in command)])


def words(command: list[str], root: Path, other: Path, out: Path) -> list[str]:
    """The command line."""
    places = {"{}": str(root), "{other}": str(other), "{out}": str(out)}
    filled = [places.get(word, word) for word in command]
    return [*filled, *(SETTINGS if command[0] in ("webgraph", "linkrank") else [])]
