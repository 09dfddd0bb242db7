from __future__ import annotations

from dataclasses import replace

import pytest

from crawl.config import Config
from crawl.errors import ConfigError
from crawl.model.datum import CrawlDatum
from crawl.model.records import to_table
from crawl.model.status import Status
from crawl.plugins.scoring.orphan import ORPHAN_KEY, OrphanScoring
from tests.plugins.scoring.pages import linked

NOW = 1_800_000_000_000
ORPHAN = OrphanScoring(
    Config.of({"scoring.orphan.mark.gone.after": 100, "scoring.orphan.mark.orphan.after": 200})
)
PAGE = CrawlDatum(Status.DB_FETCHED, 5, metadata={"k": "v"})


def linked_before(seconds: int, status: Status = Status.DB_FETCHED) -> CrawlDatum:
    return CrawlDatum(status, 5, metadata={ORPHAN_KEY: str(NOW // 1000 - seconds)})


def test_a_link_is_remembered() -> None:
    after = ORPHAN.update_score("u", PAGE, PAGE, [linked(1.0)], NOW)
    assert after == replace(PAGE, metadata={"k": "v", ORPHAN_KEY: "1800000000"})
    assert ORPHAN.update_score("u", after, after, [], NOW + 5000) == after


def test_a_fetch_does_not_take_back_what_was_heard_since_its_list_was_made() -> None:
    known, listed = linked_before(5), linked_before(500)
    assert ORPHAN.update_score("u", known, listed, [], NOW) == known


@pytest.mark.parametrize(
    ("datum", "status"),
    [
        (linked_before(0), Status.DB_FETCHED),
        (linked_before(100), Status.DB_FETCHED),
        (linked_before(101), Status.DB_GONE),
        (linked_before(200), Status.DB_GONE),
        (linked_before(201), Status.DB_ORPHAN),
        (linked_before(201, Status.DB_GONE), Status.DB_ORPHAN),
        (linked_before(101, Status.DB_ORPHAN), Status.DB_GONE),
        (PAGE, Status.DB_FETCHED),
    ],
)
def test_gone_first_then_orphan(datum: CrawlDatum, status: Status) -> None:
    assert ORPHAN.orphaned_score("u", datum, NOW) == replace(datum, status=status)
    asked = ORPHAN.orphans(to_table([("u", "h", datum)]), NOW)
    assert asked.tolist() == [status is not datum.status]


def test_limits_in_the_wrong_order_are_reported() -> None:
    with pytest.raises(ConfigError, match="shorter than"):
        OrphanScoring(Config.of({"scoring.orphan.mark.orphan.after": 5}))
