"""Segments with reports of hosts that failed, made for tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from crawl.config import Config
from crawl.counters import Counters
from crawl.model import tables
from crawl.model.hosts import HostTrouble, troubles_table
from crawl.model.status import Status
from crawl.phases.updatedb import run as updatedb
from crawl.phases.updatedb.options import UpdateDbOptions
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.folder import attempt_name
from crawl.storage.parquet import open_writer
from crawl.storage.segments import FETCH_HOSTS, PartFile, PartManifest
from crawl.tables.runner import InProcess
from crawl.testing.clock import ManualClock
from tests.phases.made import NOW, datum, make_segment

MINUTE = 60_000


def trouble(host: str, at: int = NOW, **changes: object) -> HostTrouble:
    usual = HostTrouble(host, "robots_deferred", at, at, 5 * MINUTE, True)
    return replace(usual, **changes)  # type: ignore[arg-type]


def write_troubles(
    directory: CrawlDir, name: str, troubles: Sequence[HostTrouble], fetched: Sequence[str] = ()
) -> None:
    """Writes a segment whose fetch reports these troubles, and has fetched these pages."""
    pages = [(url, datum(status=Status.FETCH_SUCCESS, fetch_time=NOW + 1)) for url in fetched]
    segment = make_segment(directory, name, pages, [])
    folder, path = segment.part_folder(FETCH_HOSTS), attempt_name("part-00000")
    with open_writer(folder, path, tables.FETCH_HOSTS.schema) as writer:
        writer.write(troubles_table(troubles))
    segment.publish(FETCH_HOSTS, PartManifest((PartFile(0, path, len(troubles), 1),), NOW))


def update(directory: CrawlDir, *names: str) -> Counters:
    options, clock = UpdateDbOptions(names), ManualClock(NOW + 1000)
    return updatedb.run(InProcess(), directory, Config(), options, clock).report.counters
