"""Spans of single pages, where `traces.pages.sample` asks for some."""

from __future__ import annotations

import random
from collections.abc import Callable

from crawl.clock import Clock
from crawl.fetcher.values.record import FetchRecord
from crawl.masking import masked_urls
from crawl.model.status import Status
from crawl.telemetry import ambient


def with_page_spans(
    emit: Callable[[FetchRecord], None], clock: Clock, chance: random.Random | None = None
) -> Callable[[FetchRecord], None]:
    """`emit`, which tells some pages to the trace; itself where none are wanted."""
    tracing, share = ambient.tracing(), ambient.settings().pages_sample
    if tracing is None or share <= 0:
        return emit
    parent = ambient.current_traceparent()  # of the task: records come from other threads
    drawn = chance or random.Random()

    def emit_and_tell(record: FetchRecord) -> None:
        emit(record)
        if record.datum.status is Status.LINKED or drawn.random() >= share:
            return  # the first: a URL that was only heard of
        now = clock.now_ms()
        spent = record.response_ms or 0
        told = {"url.full": masked_urls(record.url), "status": record.datum.status.label}
        tracing.past("page", parent, (now - spent) * 1_000_000, now * 1_000_000, told)

    return emit_and_tell
