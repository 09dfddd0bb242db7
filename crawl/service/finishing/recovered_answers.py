"""Answers that a service had noted in its segment when it died, and that the metadata store does
not have: they are put there, so that the jobs that wait for them end without another request.

An answer is durable in the segment before the store knows of it (finisher.py); a death between the
two would have it asked for again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from crawl.counters import Counters
from crawl.fetcher.values.record import FetchRecord
from crawl.model.status import Status
from crawl.parsing.document import ParsedBatch
from crawl.service.finishing.page_rows import page_of_record, parsed_pages
from crawl.service.intake.admission import Admission
from crawl.service.pages import Pages
from crawl.service.queues.queue import Queue
from crawl.service.values import Job, Page, job_of


@dataclass(frozen=True, slots=True)
class RecoveredAnswers:
    """Used before anything is claimed from the queue: whoever claims a job finds its page."""

    queue: Queue
    pages: Pages
    admission: Admission
    counters: Counters

    def take(
        self, segment: str, records: Sequence[FetchRecord], batches: Sequence[ParsedBatch]
    ) -> None:
        """Stores the pages of answers that jobs wait for. Not so of jobs that want more of a page
        than to know it, links for a site crawl or an image for another page; nor where the URL
        was to be asked again anyway. These are asked for again."""
        urls = [record.url for record in records]
        waiting = self.queue.find(urls)
        parsed = {url: page for batch in batches for url, page in parsed_pages(batch).items()}
        pages = [
            page_of_record(record, parsed.get(record.url), before, segment, self.admission)
            for record, before in zip(records, self.pages.get(urls), strict=True)
            if _is_news(record, before)
            and _is_enough([job_of(entry.payload) for entry in waiting.get(record.url, ())])
        ]
        if pages:
            self.pages.put(pages)
            self.counters["answers_recovered"] += len(pages)


def _is_news(record: FetchRecord, before: Page | None) -> bool:
    if record.datum.status == Status.FETCH_RETRY:
        return False
    return before is None or before.fetched_ms < record.datum.fetch_time


def _is_enough(jobs: Sequence[Job]) -> bool:
    """Whether there are jobs, and its page is all that they wait for."""
    return bool(jobs) and not any(job.wish.crawl or job.image_of for job in jobs)
