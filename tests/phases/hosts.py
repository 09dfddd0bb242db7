"""The HostDb of crawls made for tests."""

from __future__ import annotations

from typing import Any

from crawl.clock import Clock
from crawl.config import Config
from crawl.driver.phase_run import Published
from crawl.model.derived_tables import HOSTDB
from crawl.phases.updatehostdb import run as updatehostdb
from crawl.phases.updatehostdb.options import UpdateHostDbOptions
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.layout import bucket_of
from crawl.storage.parquet import open_table
from crawl.tables.runner import InProcess
from crawl.testing.clock import ManualClock
from tests.phases.made import NOW


def update_hosts(
    directory: CrawlDir,
    *segments: str,
    settings: dict[str, object] | None = None,
    clock: Clock | None = None,
    **options: Any,
) -> Published:
    return updatehostdb.run(
        InProcess(),
        directory,
        Config.of(settings or {}),
        UpdateHostDbOptions(segments, **options),
        clock or ManualClock(NOW),
    )


def hosts_of(directory: CrawlDir) -> dict[str, dict[str, Any]]:
    """Every row by host; each in its bucket, and in order."""
    dataset = directory.dataset(HOSTDB)
    snapshot = dataset.require_current()
    found: dict[str, dict[str, Any]] = {}
    for file in snapshot.files:
        with open_table(dataset.folder, file.path) as source:
            rows: list[dict[str, Any]] = source.read().to_pylist()
        names = [row["host"] for row in rows]
        assert names == sorted(names, key=str.encode)
        assert {bucket_of(name, snapshot.buckets) for name in names} <= {file.bucket}
        found |= {row["host"]: row for row in rows}
    return found
