"""The table of index: which line decides, and whether it deletes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from crawl.model.status import Status
from crawl.phases.index.rules import Action, IndexRules
from crawl.phases.index.tasks.decisions import TABLE, PageFacts, decide

DELETING = IndexRules(
    delete_gone=True, delete_noindex=True, delete_parse_failed=True, skip_not_modified=True
)
KEEPING = IndexRules(delete_noindex=False)


def _facts(**changes: Any) -> PageFacts:
    usual: dict[str, Any] = {
        "fetch_status": Status.FETCH_SUCCESS,
        "db_status": Status.DB_FETCHED,
        "is_applied": True,
        "has_parse": True,
        "is_parsed": True,
        "is_noindex": False,
    }
    given = {**usual, **changes}
    kinds: dict[str, Any] = {"fetch_status": np.int8, "db_status": np.int8}
    columns: dict[str, Any] = {
        name: np.array([value], kinds.get(name, np.bool_)) for name, value in given.items()
    }
    return PageFacts(**columns)


@pytest.mark.parametrize(
    ("changes", "reason", "deletes"),
    [
        ({}, "", False),
        ({"is_noindex": True}, "noindex", True),
        ({"is_parsed": False}, "parse_failed", True),
        ({"db_status": Status.DB_GONE}, "gone", True),
        ({"db_status": Status.DB_REDIR_TEMP}, "redirect", True),
        ({"db_status": Status.DB_ORPHAN}, "orphan", True),
        ({"db_status": Status.DB_DUPLICATE}, "duplicate", True),
        ({"db_status": Status.DB_NOTMODIFIED}, "not_modified", False),
        ({"db_status": 0, "is_applied": False}, "not_in_crawldb", False),
        ({"has_parse": False, "is_parsed": False}, "not_parsed", False),
        ({"fetch_status": 0}, "not_fetched", False),
        # a fetch that the CrawlDb does not know yet counts before what it says
        ({"fetch_status": Status.FETCH_GONE, "is_applied": False}, "gone", True),
        ({"db_status": Status.DB_GONE, "is_applied": False}, "", False),
        # an old fetch of a page that is well today: what was parsed before it counts again
        ({"fetch_status": Status.FETCH_GONE}, "", False),
        (
            {"fetch_status": Status.FETCH_GONE, "has_parse": False, "is_parsed": False},
            "not_parsed",
            False,
        ),
    ],
)
def test_the_line_that_decides(changes: dict[str, Any], reason: str, deletes: bool) -> None:
    found = decide(_facts(**changes), DELETING)
    line = TABLE[found.lines[0]].reason if found.lines[0] >= 0 else ""
    assert line == reason
    expected = Action.DELETE if deletes else Action.SKIP if reason else Action.ADD
    assert found.actions[0] == expected
    kept = decide(_facts(**changes), KEEPING)
    assert kept.actions[0] in (Action.SKIP, Action.ADD)
    assert sum(found.counts().values()) == bool(reason)
