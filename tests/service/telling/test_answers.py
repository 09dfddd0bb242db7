from __future__ import annotations

import pytest
from msgspec.structs import replace

from crawl.counters import Counters
from crawl.model.status import Status
from crawl.service.pages import Pages
from crawl.service.stores.memory import MemoryStore
from crawl.service.stores.store import Space
from crawl.service.telling.answers import Answers
from crawl.service.values import Finished, JobState, Page, Wish
from crawl.testing.clock import ManualClock
from crawl.testing.store_contract import NOW_MS

URL = "http://a/"
PAGE = Page(
    url=URL,
    status=int(Status.FETCH_SUCCESS),
    code=200,
    fetched_ms=NOW_MS,
    signature="ab",
    card=b'{"title":"A"}' * 100,
    markdown="# A " * 1000,
)
FINISHED = Finished(
    job="j",
    wish=Wish(url=URL),
    state=JobState.FINISHED,
    submitted_ms=NOW_MS - 100,
    finished_ms=NOW_MS,
    url=URL,
    page=PAGE,
)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOW_MS)


@pytest.fixture
def store(clock: ManualClock) -> MemoryStore:
    return MemoryStore(clock)


@pytest.fixture
def answers(store: MemoryStore, clock: ManualClock) -> Answers:
    return Answers(store, clock, 3600)


@pytest.fixture
def pages(store: MemoryStore) -> Pages:
    return Pages(store, Counters())


def test_an_answer_is_whole_and_its_text_is_kept_once(
    answers: Answers, pages: Pages, store: MemoryStore
) -> None:
    pages.put([PAGE])
    answers.store([FINISHED])
    assert answers.get("j") == FINISHED
    (row,) = store.scan(Space.JOBS)
    assert len(row.value) < 300
    assert answers.get("another") is None


def test_answers_are_kept_for_as_long_as_is_said(answers: Answers, clock: ManualClock) -> None:
    answers.store([replace(FINISHED, page=None)])
    clock.advance(3599)
    assert answers.get("j") is not None
    clock.advance(1)
    assert answers.get("j") is None


def test_of_a_page_that_was_confirmed_the_text_is_the_same(answers: Answers, pages: Pages) -> None:
    answers.store([FINISHED])
    pages.put([replace(PAGE, fetched_ms=NOW_MS + 5000, fetches=2)])
    assert answers.get("j") == FINISHED


def test_a_page_that_changed_since_says_nothing_of_what_it_was(
    answers: Answers, pages: Pages
) -> None:
    answers.store([FINISHED])
    for since in (None, replace(PAGE, signature="cd", card=b"{}", fetched_ms=NOW_MS + 1)):
        if since is not None:
            pages.put([since])
        found = answers.get("j")
        assert found is not None and found.page is not None
        assert (found.page.code, found.page.signature) == (200, "ab")
        assert (found.page.card, found.page.markdown) == (b"", None)


def test_a_job_without_a_page_has_none(answers: Answers) -> None:
    refused = replace(FINISHED, page=None, state=JobState.REFUSED, reason="busy")
    answers.store([refused])
    assert answers.get("j") == refused
