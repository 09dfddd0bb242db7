"""Segments as a user names them: what is not there is told before a phase misses a part of it."""

from __future__ import annotations

from collections.abc import Sequence

from crawl.did_you_mean import did_you_mean
from crawl.errors import UsageError
from crawl.hints import command
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.segments import FETCH, GENERATE


def require_segments(directory: CrawlDir, names: Sequence[str] = ()) -> None:
    """Raises where a named segment is not there; without names, where there is none at all."""
    where = directory.address
    if not names and not directory.segments.generated():
        directory.require_crawldb()
        raise UsageError(f"{where} has no segment: make one with `{command('generate', where)}`")
    for name in names:
        segment = directory.segments.segment(name.rstrip("/").rpartition("/")[2])
        if segment.manifest(GENERATE) is None and segment.manifest(FETCH) is None:
            known = (each.name for each in directory.segments.generated())
            near = did_you_mean(segment.name, known)
            raise UsageError(
                f"{where} has no segment {segment.name}{near};"
                f" `{command('status', where)}` lists them"
            )
