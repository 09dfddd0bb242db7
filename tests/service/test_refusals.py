from __future__ import annotations

import pytest

from crawl.model.status import Status
from crawl.service.refusals import in_words, reason_of, reason_of_end, refusal_of
from crawl.service.telling import views
from crawl.service.values import Finished, JobState, Page, Wish

BLOCKED = "blocked(address_refused: inside.example: 10.0.0.7 is private)"


def finished(reason: str, page: Page | None, state: JobState = JobState.FINISHED) -> Finished:
    wish = Wish(url="http://inside.example/")
    return Finished(
        job="j",
        wish=wish,
        state=state,
        submitted_ms=1,
        finished_ms=2,
        url=wish.url,
        reason=reason,
        page=page,
    )


def page(reason: str) -> Page:
    return Page(url="http://inside.example/", status=int(Status.FETCH_GONE), reason=reason)


def test_of_a_refused_address_it_is_not_told_where_the_name_leads() -> None:
    ended = finished(BLOCKED, page(BLOCKED))
    assert reason_of(page(BLOCKED)) == reason_of_end(ended) == refusal_of(ended) == "address"
    assert "10.0.0.7" not in str(views.finished_view(ended))
    assert "http.filter.ipaddress.allow.private" in views.finished_view(ended)["message"]


@pytest.mark.parametrize(
    ("ended", "refusal"),
    [
        (finished("redirect.address", page("")), "redirect.address"),
        (finished("crawl_delay_too_long", None, JobState.REFUSED), "crawl_delay_too_long"),
        (finished("gone(404)", page("gone(404)")), ""),
        (finished("", page("")), ""),
        (finished("tries", page("exception(timeout)")), ""),
    ],
)
def test_what_was_refused_is_told_from_what_failed(ended: Finished, refusal: str) -> None:
    assert refusal_of(ended) == refusal


def test_each_reason_is_a_sentence() -> None:
    assert in_words("redirect.address").startswith("it redirects, and its target is not fetched")
    assert "regex" in in_words("filtered.regex")
    for reason in ("robots_deferred", "crawl_delay_too_long", "tries", "long_pause"):
        assert " " in in_words(reason), reason
    assert in_words("unheard_of") == "unheard_of"
