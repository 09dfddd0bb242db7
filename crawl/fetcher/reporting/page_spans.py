"""Spans of single pages, where `traces.pages.sample` asks for some."""

from __future__ import annotations

import random
from collections.abc import Callable

from crawl.clock import Clock
from crawl.fetcher.values.record import FetchRecord
from crawl.masking import masked_urls
from crawl.model.status import Status
from crawl.telemetry import ambient


def page_span_observers(
    clock: Clock, rng: random.Random | None = None
) -> tuple[Callable[[FetchRecord], None], ...]:
    """The observer of records that writes spans of some pages; none where none are wanted."""
    tracing, share = ambient.tracing(), ambient.settings().pages_sample
    if tracing is None or share <= 0:
        return ()
    parent = ambient.current_traceparent()  # of the task: records come from other threads
    rng = rng or random.Random()

    def observe(record: FetchRecord) -> None:
        if record.datum.status is Status.LINKED or rng.random() >= share:
            return  # a link is no page
        now = clock.now_ms()
        spent = record.response_ms or 0
        attributes = {"url.full": masked_urls(record.url), "status": record.datum.status.label}
        tracing.past("page", parent, (now - spent) * 1_000_000, now * 1_000_000, attributes)

    return (observe,)
