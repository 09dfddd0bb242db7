from __future__ import annotations

import pytest

from crawl.model.status import DB_STATUSES, Status

NUTCH = {
    "db_unfetched": 0x01,
    "db_fetched": 0x02,
    "db_gone": 0x03,
    "db_redir_temp": 0x04,
    "db_redir_perm": 0x05,
    "db_notmodified": 0x06,
    "db_duplicate": 0x07,
    "db_orphan": 0x08,
    "db_parse_failed": 0x09,
    "fetch_success": 0x21,
    "fetch_retry": 0x22,
    "fetch_redir_temp": 0x23,
    "fetch_redir_perm": 0x24,
    "fetch_gone": 0x25,
    "fetch_notmodified": 0x26,
    "signature": 0x41,
    "injected": 0x42,
    "linked": 0x43,
    "parse_metadata": 0x44,
    "parse_failed": 0x45,
}


def test_the_codes_are_nutchs() -> None:
    assert {status.label: int(status) for status in Status} == NUTCH


def test_which_may_stand_in_the_crawldb() -> None:
    assert {status.label for status in Status if status.is_db} == {
        name for name in NUTCH if name.startswith("db_")
    }
    assert tuple(DB_STATUSES) == tuple(status for status in Status if status.is_db)


def test_which_are_outcomes_of_a_fetch() -> None:
    assert {status.label for status in Status if status.is_fetch} == {
        name for name in NUTCH if name.startswith("fetch_")
    } | {"parse_failed"}


def test_labels() -> None:
    for status in Status:
        assert Status.of_label(status.label) is status
    assert Status.of_label(" DB_Gone ") is Status.DB_GONE
    with pytest.raises(ValueError, match="no status is called 'gone'"):
        Status.of_label("gone")
