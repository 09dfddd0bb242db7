from __future__ import annotations

import pytest

from crawl.rounds.overlap_rules import pages_of_a_host


@pytest.mark.parametrize(
    ("mean_due", "overhead_s", "page_s", "pages"),
    [
        (100, 10, 5, 50),
        (101, 10, 5, 51),
        (10, 60, 5, 18),  # 90 s of fetching beside 60 s of the rest
        (0, 10, 5, 3),
        (0, 0, 5, 1),
        (40, 10, 0, 20),  # nothing is known of the time that a page takes
        (0, 10, 0, 1),
    ],
)
def test_half_of_a_host_and_no_shorter_than_a_rounds_rest(
    mean_due: float, overhead_s: float, page_s: float, pages: int
) -> None:
    assert pages_of_a_host(mean_due, overhead_s, page_s) == pages
