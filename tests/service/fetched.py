"""What the lane brings, made up: answers with pages, and their parses."""

from __future__ import annotations

from crawl.config import Config
from crawl.fetcher.values.record import FetchRecord
from crawl.model.content import Content
from crawl.model.datum import CrawlDatum
from crawl.model.status import Status
from crawl.parsing.document import ParsedBatch
from crawl.parsing.pipeline import Pipeline
from crawl.parsing.plan import ParsePlan
from crawl.urls.parse import host_of

CONFIG = Config.of({"http.agent.name": "tests"})
FETCHED_MS = 1_790_000_000_000
_pipeline: list[Pipeline] = []


def page_record(url: str, text: str, at_ms: int = FETCHED_MS, head: str = "") -> FetchRecord:
    """A page that was fetched."""
    title = text.partition(" ")[0]
    body = f"<html><head><title>{title}</title>{head}</head><body><p>{text}</p></body></html>"
    status = Status.FETCH_SUCCESS
    content = Content(
        url, body.encode(), "text/html; charset=utf-8", 200, at_ms, status=int(status)
    )
    return FetchRecord(url, host_of(url) or "", CrawlDatum(status, at_ms), content)


def failed_record(
    url: str, status: Status = Status.FETCH_GONE, at_ms: int = FETCHED_MS
) -> FetchRecord:
    """An answer that is no page."""
    return FetchRecord(url, host_of(url) or "", CrawlDatum(status, at_ms))


def parse_of(*records: FetchRecord) -> ParsedBatch:
    """The rows of the records' pages."""
    if not _pipeline:
        _pipeline.append(Pipeline(ParsePlan.from_config(CONFIG)))
    return _pipeline[0].parse([each.content for each in records if each.content is not None])
