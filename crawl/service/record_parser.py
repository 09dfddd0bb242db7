"""Parses what was fetched, in a process of its own, with what those who wait for it want beside the
usual: Markdown, which costs nearly half as much again as all else of a parse, is made for them
alone; and of pages of a site crawl it is counted which links the rules of parsing drop.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from crawl.fetcher.values.record import FetchRecord
from crawl.model.content import Content
from crawl.model.contents import content_table
from crawl.model.status import Status
from crawl.parsing.document import ParsedBatch
from crawl.parsing.markdown import MARKDOWN_KEY
from crawl.parsing.process.sandbox import Sandbox
from crawl.service.page_rows import ParsedPage, Wanted, parsed_pages
from crawl.service.values import Job

_DROPPED = "outlinks_dropped."


class LinkCounter(Protocol):
    """Counts links that a site crawl does not take."""

    def leave_out(self, crawl_id: str, reasons: Iterable[tuple[str, int]]) -> None:
        """Counts links by reason."""


@dataclass(frozen=True, slots=True)
class RecordParser:
    """For one thread."""

    sandbox: Sandbox
    crawls: LinkCounter
    markdown_bytes: int

    def wanted(self, jobs: Sequence[Job]) -> Wanted:
        """What the jobs of a URL want of it."""
        wants_markdown = any(job.wish.wants_markdown for job in jobs)
        return Wanted(
            self.markdown_bytes if wants_markdown else 0,
            bool(jobs) and all(job.image_of for job in jobs),
        )

    def parse(
        self, records: Iterable[FetchRecord], jobs: Mapping[str, Sequence[Job]]
    ) -> tuple[dict[str, ParsedPage], dict[str, ParsedBatch]]:
        """The parses of answers that are pages, and the batch that each is in, by URL: those of a
        site crawl make one, so that its counts are the crawl's."""
        groups: dict[str, list[Content]] = {}
        for record in records:
            content = record.content
            if content is None or record.datum.status is not Status.FETCH_SUCCESS:
                continue
            waiting = jobs.get(record.url, ())
            if self.wanted(waiting).markdown_bytes:
                content = replace(content, metadata={**content.metadata, MARKDOWN_KEY: "wanted"})
            crawl = next((job.wish.crawl for job in waiting if job.wish.crawl), "")
            groups.setdefault(crawl, []).append(content)
        parsed: dict[str, ParsedPage] = {}
        batches: dict[str, ParsedBatch] = {}
        for crawl, contents in groups.items():
            batch = self.sandbox.parse_table(content_table(contents))
            pages = parsed_pages(batch)
            parsed.update(pages)
            batches.update(dict.fromkeys(pages, batch))
            if crawl:
                self.crawls.leave_out(crawl, _dropped(batch))
        return parsed, batches


def _dropped(batch: ParsedBatch) -> list[tuple[str, int]]:
    return [
        (name.removeprefix(_DROPPED), count)
        for name, count in batch.counters.items()
        if name.startswith(_DROPPED)
    ]
