from __future__ import annotations

import pytest

from crawl.model.status import Status
from crawl.service.finishing.outcomes import Limits, Next, Step, Target, after_answer, after_return
from crawl.service.values import Hop, Job, Wish

LIMITS = Limits(tries=3, redirects=2, max_wait_s=60)


def job(tries: int = 0, *before: str) -> Job:
    hops = tuple(Hop(url, int(Status.FETCH_REDIR_TEMP)) for url in before)
    wish = Wish(url="http://a.org/")
    return Job(id="1", wish=wish, url="http://b.org/", submitted_ms=1, hops=hops, tries=tries)


@pytest.mark.parametrize(
    "status", [Status.FETCH_SUCCESS, Status.FETCH_GONE, Status.FETCH_NOTMODIFIED]
)
def test_pages_and_what_is_gone_end_a_job(status: Status) -> None:
    assert after_answer(job(), status, None, 0, LIMITS) == Step(Next.FINISH)


@pytest.mark.parametrize("status", [Status.FETCH_REDIR_TEMP, Status.FETCH_REDIR_PERM])
def test_redirects_are_followed(status: Status) -> None:
    target = Target("http://c.org/")
    assert after_answer(job(), status, target, 0, LIMITS) == Step(Next.FOLLOW, url="http://c.org/")


@pytest.mark.parametrize(
    ("the_job", "target", "reason"),
    [
        (job(), None, "redirect.no_target"),
        (job(), Target(refusal="address"), "redirect.address"),
        (job(), Target("http://b.org/"), "redirect.loop"),
        (job(0, "http://a.org/"), Target("http://a.org/"), "redirect.loop"),
        (job(0, "http://x.org/", "http://y.org/"), Target("http://z.org/"), "redirect.too_many"),
    ],
)
def test_redirects_that_lead_nowhere_end_a_job(
    the_job: Job, target: Target | None, reason: str
) -> None:
    step = after_answer(the_job, Status.FETCH_REDIR_TEMP, target, 0, LIMITS)
    assert step == Step(Next.FINISH, reason)


def test_a_server_that_asks_to_come_again_is_asked_again_for_some_times() -> None:
    assert after_answer(job(1), Status.FETCH_RETRY, None, 5, LIMITS) == Step(Next.AGAIN)
    assert after_answer(job(2), Status.FETCH_RETRY, None, 5, LIMITS) == Step(Next.FINISH, "tries")
    late = after_answer(job(), Status.FETCH_RETRY, None, 61, LIMITS)
    assert late == Step(Next.FINISH, "long_pause")


def test_what_is_given_back_is_tried_again_refused_or_left() -> None:
    assert after_return(job(), "too_many_failures", 1, LIMITS).next is Next.AGAIN
    assert after_return(job(2), "too_many_failures", 1, LIMITS).next is Next.REFUSE
    assert after_return(job(), "too_many_failures", 61, LIMITS).next is Next.REFUSE
    assert after_return(job(), "crawl_delay_too_long", 0, LIMITS).next is Next.REFUSE
    assert after_return(job(), "robots_deferred", 0, LIMITS).next is Next.REFUSE
    assert after_return(job(2), "service_ends", 0, LIMITS).next is Next.LEAVE
    assert after_return(job(), "not_owner", 100, LIMITS).next is Next.LEAVE
