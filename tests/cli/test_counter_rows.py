from __future__ import annotations

from crawl.operations.shown import counter_rows


def test_every_counter_is_shown_with_its_family_but_for_zeros() -> None:
    counters = {
        "odd": 1,
        "answers.http_404": 2,
        "fetch_success": 3,
        "hung_threads": 4,
        "answers.http_200": 5,
        "none": 0,
    }
    assert counter_rows(counters, ("fetch_", "answers.")) == [
        ["fetch_success", 3],
        ["answers.http_200", 5],
        ["answers.http_404", 2],
        ["hung_threads", 4],
        ["odd", 1],
    ]
