"""The kept states of a CrawlDb, as plain values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from crawl.clock import as_text
from crawl.errors import StorageError
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.manifest import Snapshot


def list_snapshots(directory: CrawlDir, notice: Callable[[str], None]) -> list[dict[str, Any]]:
    """Every one that is kept, the current one last; `notice` is told of those that are damaged."""
    timeline = directory.require_timeline()
    rows = []
    for number in timeline.numbers:
        try:
            snapshot = directory.crawldb.snapshot(number)
        except StorageError as error:
            notice(str(error))
            snapshot = Snapshot(number, 0, (), 0, "damaged")
        rows.append(
            {
                "snapshot": number,
                "made": as_text(snapshot.created_ms) if snapshot.buckets else "",
                "by": snapshot.phase,
                "urls": snapshot.rows,
                "bytes": snapshot.bytes,
                "current": number == timeline.current,
            }
        )
    return rows
