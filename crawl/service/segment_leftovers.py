"""What a service leaves beside a segment that is published, where it is killed at that moment: its
lock, its journal, a manifest of which there is the copy alone."""

from __future__ import annotations

import logging

from crawl.clock import Clock
from crawl.config import Config
from crawl.errors import Locked, StorageError
from crawl.fetcher.output.journal import JOURNAL
from crawl.storage.crawl_dir import CrawlDir, locked
from crawl.storage.lock import LOCK_NAME
from crawl.storage.segments import GENERATE, Segment, is_of_service

_log = logging.getLogger(__name__)


def tidy_published(crawl_dir: CrawlDir, config: Config, clock: Clock) -> None:
    """Makes such segments whole. What is in them is published, and nothing of that is touched: it
    may have been parsed again since. One that another process has at the moment is left to it."""
    for name in filter(is_of_service, crawl_dir.segments.folder.names()):
        segment = crawl_dir.segments.segment(name)
        try:
            if _has_leftovers(segment):
                _tidy(segment, config, clock)
        except Locked:
            continue
        except StorageError as error:  # `crawl check` tells of it
            _log.warning("%s; the segment is left as it is", error)


def _has_leftovers(segment: Segment) -> bool:
    content, is_copy = segment.manifest_file(GENERATE).look()
    if content is None:
        return False
    return (
        is_copy or segment.folder.exists(LOCK_NAME) or bool(segment.folder.child(JOURNAL).names())
    )


def _tidy(segment: Segment, config: Config, clock: Clock) -> None:
    with locked(segment.folder, "serve", config, clock) as lock:
        held = segment.held_by(lock)
        held.manifest_file(GENERATE).heal()
        held.folder.child(JOURNAL).delete("")
