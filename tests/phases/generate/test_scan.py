from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from crawl.config import Config
from crawl.counters import Counters
from crawl.model.datum import CrawlDatum
from crawl.model.records import to_table
from crawl.model.status import Status
from crawl.phases.generate.tasks.scan import select
from crawl.phases.generate.tasks.selection import selection_of
from crawl.plugins.schedule.default import DefaultFetchSchedule

NOW = 1_800_000_000_000


class Contrary(DefaultFetchSchedule):
    """A schedule that prefers pages of short intervals."""

    def urgency_batch(self, datums: pa.Table, now: int) -> pa.Array[Any]:
        return pc.divide(1.0, pc.cast(datums["fetch_interval"], pa.float64()).combine_chunks())


def test_a_schedule_may_have_a_say_in_the_order_but_not_in_what_is_too_low() -> None:
    records = {
        "http://a.org/often": CrawlDatum(Status.DB_FETCHED, NOW, score=1.0, fetch_interval=10),
        "http://a.org/seldom": CrawlDatum(Status.DB_FETCHED, NOW, score=2.0, fetch_interval=1000),
    }
    name = f"{Contrary.__module__}:{Contrary.__qualname__}"
    settings = {"db.fetch.schedule.class": name, "generate.min.score": 1.0, "urlfilter.order": []}
    selection = selection_of(Config.of(settings), NOW)
    rows = to_table((url, "a.org", datum) for url, datum in records.items())
    alive, values = select(selection, rows, None, Counters())
    assert alive.tolist() == [True, True]
    assert values.tolist() == pytest.approx([0.1, 0.002])
