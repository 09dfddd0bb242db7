"""Segments of the service, filled by hand, also in a process that dies at one of its writes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from crawl.clock import Clock, SystemClock
from crawl.config import Config
from crawl.fetcher.values.record import FetchRecord
from crawl.model.content import Content
from crawl.model.contents import content_table, contents_of
from crawl.model.datum import CrawlDatum
from crawl.model.status import Status
from crawl.parsing.document import ParsedBatch
from crawl.parsing.pipeline import Pipeline
from crawl.parsing.plan import ParsePlan
from crawl.service.segments.roll import SegmentRoll
from crawl.storage.crawl_dir import CrawlDir

CONFIG = Config.of({"urlfilter.order": [], "crawldb.buckets": 2, "lock.heartbeat": 600})
_PAGES = 3
_ADDITIONS = 4


def parse(contents: pa.Table) -> ParsedBatch:
    """Parses in this process."""
    return Pipeline(ParsePlan.from_config(CONFIG)).parse(list(contents_of(contents)))


def page(url: str, text: str = "text", status: Status = Status.FETCH_SUCCESS) -> FetchRecord:
    """The answer for a URL, now."""
    host, now_ms = url.split("/")[2], SystemClock().now_ms()
    datum = CrawlDatum(status, now_ms, 0, 1000, score=1.0)
    if status is not Status.FETCH_SUCCESS:
        return FetchRecord(url, host, datum)
    body = f"<title>{text}</title><p>{text}</p><a href='/of-{text}'>more</a>".encode()
    answer = Content(url, body, "text/html", 200, now_ms, status=int(status))
    return FetchRecord(url, host, datum, answer)


def parses_of(records: Sequence[FetchRecord]) -> dict[str, ParsedBatch]:
    """The parses of some answers, as the service has them when it stores these."""
    contents = [record.content for record in records if record.content is not None]
    batch = parse(content_table(contents))
    return dict.fromkeys((content.url for content in contents), batch)


def roll_of(
    directory: CrawlDir, settings: Mapping[str, object] | None = None, clock: Clock | None = None
) -> SegmentRoll:
    config = CONFIG.with_values(settings or {}, "test")
    return SegmentRoll(directory, config, clock or SystemClock(), parse)


def added(number: int) -> list[str]:
    """The URLs of an addition: the first of each is one that a server refused."""
    return [f"http://h{page}.org/{number}" for page in range(_PAGES)]


def fill(address: str, told: str) -> None:
    """Goes on with what is there, stores some answers, the half of them in a segment that is
    closed in between, some of the others in one that is open beside it; a line in `told` for each
    that is stored. Every last page was asked for in vain before."""
    roll = roll_of(CrawlDir(address))
    roll.recover()
    for number in range(_ADDITIONS):
        urls = added(number)
        roll.add([page(urls[-1], status=Status.FETCH_RETRY)], {})
        records = [page(urls[0], status=Status.FETCH_GONE), *map(page, urls[1:])]
        # of every second the parse is lost
        roll.add(records, parses_of(records) if number % 2 else {})
        with Path(told).open("a") as lines:
            lines.write("".join(f"{url}\n" for url in urls))
            lines.flush()
            os.fsync(lines.fileno())
        if number == 1:
            roll.publish()
        if number == 2:
            again = [page(url, "again") for url in urls[1:]]
            roll.add(again, parses_of(again))
    roll.close()


def recover(address: str) -> None:
    """Publishes what is left open."""
    roll = roll_of(CrawlDir(address))
    roll.recover()
    roll.close()
