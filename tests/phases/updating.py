"""A crawl whose segments are made by hand and applied to its CrawlDb."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from crawl.config import Config
from crawl.driver.crawldb_writer import CrawlDbUpdate
from crawl.model.answer_keys import CODE_KEY
from crawl.model.datum import CrawlDatum
from crawl.model.status import Status
from crawl.phases.updatedb import run as updatedb
from crawl.phases.updatedb.options import UpdateDbOptions
from crawl.tables.runner import InProcess
from crawl.testing.clock import ManualClock
from tests.phases.made import DAY, NOW, SegmentRows, datum, make_crawldb, make_segment, records_of

MONTH = 30 * DAY


def fetched(status: Status = Status.FETCH_SUCCESS, **changes: Any) -> CrawlDatum:
    usual: dict[str, Any] = {"status": status, "fetch_time": NOW - 1000}
    return datum(**{**usual, "metadata": {CODE_KEY: "200"}, **changes})


def link(score: float = 0.25, **changes: Any) -> CrawlDatum:
    return datum(status=Status.LINKED, score=score, fetch_time=NOW - 1000, **changes)


def signed(signature: bytes) -> CrawlDatum:
    return datum(status=Status.SIGNATURE, signature=signature)


class Crawl:
    """A crawl in a temporary folder."""

    def __init__(self, folder: Path, records: Mapping[str, CrawlDatum], **shape: Any) -> None:
        self.directory = make_crawldb(str(folder / "crawl"), records, **shape)

    def segment(
        self, name: str, fetch: SegmentRows = (), parse: SegmentRows | None = (), **how: Any
    ) -> None:
        make_segment(self.directory, name, fetch, parse, **how)

    def update(
        self,
        *segments: str,
        settings: Mapping[str, object] | None = None,
        files: dict[str, str] | None = None,
        **options: Any,
    ) -> CrawlDbUpdate:
        config = Config.of(settings or {}, files or {})
        chosen = UpdateDbOptions(segments, **options)
        return updatedb.run(InProcess(), self.directory, config, chosen, ManualClock(NOW))

    @property
    def records(self) -> dict[str, CrawlDatum]:
        return records_of(self.directory)


A, B, C = "http://a.org/", "http://b.org/", "http://c.org/"
S1, S2, S3 = "20260101000000", "20260102000000", "20260103000000"
