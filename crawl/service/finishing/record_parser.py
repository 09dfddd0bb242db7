"""Parses what was fetched, in a process of its own, with what those who wait for it want beside the
usual: Markdown, which costs nearly half as much again as all else of a parse, is made for them
alone; and of pages of a site crawl it is counted which links the rules of parsing drop.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import pyarrow as pa

from crawl.counters import Counters
from crawl.errors import EnvironmentFault
from crawl.fetcher.values.record import FetchRecord
from crawl.model.content import Content
from crawl.model.contents import content_table
from crawl.model.status import Status
from crawl.parsing.document import ParsedBatch, join_batches
from crawl.parsing.markdown import MARKDOWN_KEY
from crawl.parsing.process.sandbox import Sandbox
from crawl.service.finishing.page_rows import ParsedPage, Wanted, parsed_pages
from crawl.service.finishing.warm_up import warm_page
from crawl.service.queues.queue import Queue
from crawl.service.values import Job, job_of

_STARTS = 3
"""Of the parser's process, for the same pages."""
_DROPPED = "outlinks_dropped."
_NO_LOSS = ("duplicate", "self")
"""The same link again, and one to the page itself."""

_log = logging.getLogger(__name__)


class LinkCounter(Protocol):
    """Counts links that a site crawl does not take."""

    def leave_out(self, crawl_id: str, reasons: Iterable[tuple[str, int]]) -> None:
        """Counts links by reason."""


@dataclass(frozen=True, slots=True)
class Parses:
    """What came of parsing some answers, by URL."""

    pages: dict[str, ParsedPage]
    batch: ParsedBatch | None
    """The rows of all of them; None where there is no page."""
    wanted: dict[str, Wanted]
    """Of the URLs of which more than usual was wanted by then."""
    without_markdown: frozenset[str]
    """Pages of which nobody wanted it by then."""


@dataclass(frozen=True, slots=True)
class RecordParser:
    """For one thread."""

    sandbox: Sandbox
    queue: Queue
    crawls: LinkCounter
    markdown_bytes: int
    counters: Counters

    def parse(self, records: Sequence[FetchRecord]) -> Parses:
        """Parses those that are pages."""
        waiting = self.queue.find([record.url for record in records])
        wanted: dict[str, Wanted] = {}
        without_markdown: list[str] = []
        groups: dict[str, list[Content]] = {}
        for record in records:
            jobs = [job_of(entry.payload) for entry in waiting.get(record.url, ())]
            if jobs:
                wanted[record.url] = self._wanted(jobs)
            content = record.content
            if content is None or record.datum.status is not Status.FETCH_SUCCESS:
                continue
            if record.url in wanted and wanted[record.url].markdown:
                content = replace(content, metadata={**content.metadata, MARKDOWN_KEY: "wanted"})
            else:
                without_markdown.append(record.url)
            crawl = next((job.wish.crawl for job in jobs if job.wish.crawl), "")
            groups.setdefault(crawl, []).append(content)
        pages: dict[str, ParsedPage] = {}
        batches = []
        for crawl, contents in groups.items():  # by themselves: their counts are the crawl's
            batch = self._parsed(content_table(contents))
            pages.update(parsed_pages(batch))
            batches.append(batch)
            if crawl:
                self.crawls.leave_out(crawl, _dropped(batch))
        joined = None if not batches else batches[0] if len(batches) == 1 else join_batches(batches)
        return Parses(pages, joined, wanted, frozenset(without_markdown))

    def keep_warm(self) -> None:
        """Has the parser's process know that it is needed, or another take its place."""
        self._parsed(content_table([warm_page()]))

    def _parsed(self, contents: pa.Table) -> ParsedBatch:
        """The parser's process may be killed by others while it starts, which says nothing of the
        pages: one that cannot be started at all ends the service."""
        for _ in range(_STARTS - 1):
            try:
                return self.sandbox.parse_table(contents)
            except EnvironmentFault as fault:
                self.counters["parser_restarts"] += 1
                _log.warning("%s; another is started", fault)
        return self.sandbox.parse_table(contents)

    def _wanted(self, jobs: Sequence[Job]) -> Wanted:
        return Wanted(
            any(job.wish.wants_markdown and not job.image_of for job in jobs),
            self.markdown_bytes,
            all(job.image_of for job in jobs),
        )


def _dropped(batch: ParsedBatch) -> list[tuple[str, int]]:
    return [
        (name.removeprefix(_DROPPED), count)
        for name, count in batch.counters.items()
        if name.startswith(_DROPPED) and name.removeprefix(_DROPPED) not in _NO_LOSS
    ]
