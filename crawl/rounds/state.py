"""How far the segments of a crawl are: what the next step follows from."""

from __future__ import annotations

from collections.abc import Container

from crawl.phases.updatedb import run as updatedb
from crawl.rounds.steps import SegmentState, Stage
from crawl.storage.chunks import CHUNKS
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.segments import FETCH, PARSE, Segment


def stage_of(segment: Segment, applied: Container[str]) -> Stage:
    """How far a segment is, by its folder and the segments that the CrawlDb has taken in."""
    if segment.name in applied:
        return Stage.UPDATED
    fetched = segment.manifest(FETCH)
    if fetched is None or not fetched.complete:
        begun = fetched is not None or segment.folder.exists(CHUNKS)
        return Stage.FETCHING if begun else Stage.GENERATED
    return Stage.PARSED if segment.is_complete(PARSE) else Stage.FETCHED


def segment_states(directory: CrawlDir) -> list[SegmentState]:
    """Every segment of the crawl, oldest first."""
    applied = updatedb.applied(directory)
    return [
        SegmentState(segment.name, stage_of(segment, applied))
        for segment in directory.segments.generated()
    ]
