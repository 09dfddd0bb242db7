"""What the service knows and does, as the API, listeners and tools show it: plain JSON values.

Times are milliseconds since 1970; statuses have the names that the CrawlDb's reports have.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from crawl.service.cards import card_of as card_of
from crawl.service.intake.intake import Submitted
from crawl.service.pages import Resolved
from crawl.service.refusals import in_words, reason_of_end
from crawl.service.site_crawls.values import SiteCrawl
from crawl.service.telling.page_json import label_of, page_json
from crawl.service.values import Finished, Hop, Job, JobState, Page

_decode = msgspec.json.Decoder().decode
Json = dict[str, Any]


def page_view(page: Page, asked: str, hops: Sequence[Hop] = (), *, markdown: bool = False) -> Json:
    """A page under the URL that it was asked for by, with what it says of itself."""
    view: Json = _decode(page_json(page, asked, hops, markdown=markdown))
    return view


def resolved_view(resolved: Resolved, asked: str, *, markdown: bool = False) -> Json:
    return page_view(resolved.page, asked, resolved.hops, markdown=markdown)


def hop_view(hop: Hop) -> Json:
    return {
        "url": hop.url,
        "status": label_of(hop.status),
        "code": hop.code,
        "at_ms": hop.at_ms,
    }


def submitted_view(submitted: Submitted) -> Json:
    """What became of a URL that was submitted."""
    view: Json = {
        "id": submitted.id or None,
        "url": submitted.url,
        "state": submitted.state.value,
    }
    if submitted.reason:
        view["reason"] = submitted.reason
        view["message"] = in_words(submitted.reason)
    if submitted.retry_after_s:
        view["retry_after_s"] = round(submitted.retry_after_s, 1)
    if submitted.answer is not None:
        view["page"] = resolved_view(
            submitted.answer, submitted.url, markdown=submitted.wish.wants_markdown
        )
    return view


def finished_view(finished: Finished, *, markdown: bool | None = None) -> Json:
    """What became of a job; with Markdown where its submitter wanted that, or as it is said."""
    page = finished.page
    view: Json = {
        "id": finished.job,
        "job": finished.job,
        "url": finished.wish.url,
        "state": finished.state.value,
        "final_url": finished.url,
        "chain": [hop_view(hop) for hop in finished.hops],
        "submitted_ms": finished.submitted_ms,
        "finished_ms": finished.finished_ms,
        "tags": list(finished.wish.tags),
    }
    if finished.wish.crawl:
        view |= {"crawl": finished.wish.crawl, "depth": finished.wish.depth}
    if reason := reason_of_end(finished):
        view["reason"] = reason
        view["message"] = in_words(reason)
    if page is not None:
        view["status"] = label_of(page.status)
        with_markdown = finished.wish.wants_markdown if markdown is None else markdown
        view["page"] = page_view(page, finished.wish.url, finished.hops, markdown=with_markdown)
    return view


WAITS_FOR_FETCH = {"waits_for": "batch_fetch", "retry_after_s": 30.0}
"""Of a job whose host a batch fetch of the crawl asks at the moment."""


def waiting_view(submitted: Submitted, *, is_left_to_fetch: bool = False) -> Json:
    """A job that was submitted just now, and is on its way."""
    view = {"id": submitted.id, "url": submitted.wish.url, "state": JobState.QUEUED.value}
    return {**view, **(WAITS_FOR_FETCH if is_left_to_fetch else {})}


def job_view(job: Job, not_before_ms: int = 0, *, is_left_to_fetch: bool = False) -> Json:
    """A job that is on its way, as far as it has come."""
    view: Json = {
        "id": job.id,
        "job": job.id,
        "url": job.wish.url,
        "state": JobState.QUEUED.value,
        "final_url": job.url,
        "chain": [hop_view(hop) for hop in job.hops],
        "submitted_ms": job.submitted_ms,
        "priority": job.wish.priority.label,
        "tags": list(job.wish.tags),
        "tries": job.tries,
    }
    if not_before_ms:
        view["not_before_ms"] = not_before_ms
    if is_left_to_fetch:
        view |= WAITS_FOR_FETCH
    if job.wish.crawl:
        view |= {"crawl": job.wish.crawl, "depth": job.wish.depth}
    return view


def crawl_view(crawl: SiteCrawl) -> Json:
    """A site crawl as it is now."""
    counts = crawl.counts
    view: Json = {
        "id": crawl.id,
        "state": crawl.state.value,
        "started_ms": crawl.started_ms,
        "seeds": list(crawl.wish.seeds),
        "asked": counts.asked,
        "pages": counts.pages,
        "failed": counts.failed,
        "outstanding": 0 if crawl.ended_ms else counts.outstanding,
        "left_out": dict(sorted(counts.left_out.items())),
    }
    if crawl.further_hosts:
        view["further_hosts"] = list(crawl.further_hosts)
    if crawl.ended_ms:
        view["ended_ms"] = crawl.ended_ms
        view["given_up"] = counts.outstanding
    return view


def counted(reasons: Iterable[str]) -> dict[str, int]:
    """How often each reason is among them."""
    counts: dict[str, int] = {}
    for reason in reasons:
        counts[reason] = counts.get(reason, 0) + 1
    return counts
