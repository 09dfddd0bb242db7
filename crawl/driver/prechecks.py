"""What is refused before Spark starts, so that nobody waits seconds for a one-line error.

These are only looks at the crawl: a phase checks again when it holds the lock.
"""

from __future__ import annotations

from collections.abc import Sequence

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.config.properties import LOCK_STALE_AFTER
from crawl.did_you_mean import did_you_mean
from crawl.errors import UsageError
from crawl.hints import command
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.folder import Folder
from crawl.storage.lock import require_free
from crawl.storage.segments import FETCH, GENERATE, segment_name


def require_unlocked(folder: Folder, config: Config, *, steal_lock: bool) -> None:
    """Raises Locked where another process is writing to the folder now."""
    stale_after_ms = config[LOCK_STALE_AFTER] * 60_000
    require_free(folder, SystemClock(), stale_after_ms=stale_after_ms, steal_lock=steal_lock)


def require_segments(directory: CrawlDir, names: Sequence[str] = ()) -> None:
    """Raises where a named segment does not exist; without names, where there is none at all."""
    where = directory.address
    if not names and not directory.segments.generated():
        directory.require_crawldb()
        raise UsageError(f"{where} has no segment: make one with `{command('generate', where)}`")
    for name in names:
        segment = directory.segments.segment(segment_name(name))
        if segment.manifest(GENERATE) is None and segment.manifest(FETCH) is None:
            segment_names = (each.name for each in directory.segments.generated())
            near = did_you_mean(segment.name, segment_names)
            raise UsageError(
                f"{where} has no segment {segment.name}{near};"
                f" `{command('status', where)}` lists them"
            )


def require_folder(directory: CrawlDir) -> None:
    """Raises where the crawl's folder does not exist."""
    if not directory.folder.exists():
        raise UsageError(f"{directory.address}: no such crawl")
