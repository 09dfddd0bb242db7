from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from crawl.model.status import Status
from crawl.service.finishing.parse_stage import MAX_BATCH
from crawl.service.values import JobState, Wish
from crawl.testing.clock import ManualClock
from tests.service.parts_in_process import Death, Parts

URL = "http://a.org/1"
OTHER = "http://b.org/2"


@pytest.fixture
def parts(tmp_path: Path) -> Iterator[Parts]:
    parts = Parts(tmp_path / "queue", ManualClock(1_800_000_000_000))
    yield parts
    parts.close()


def fed(parts: Parts, url: str = URL) -> str:
    (submitted,) = parts.submit(Wish(url=url))
    parts.dispatch()
    return submitted.id


def test_a_redirect_is_followed_as_a_job_of_the_next_host(parts: Parts) -> None:
    job = fed(parts)
    parts.answer(URL, Status.FETCH_REDIR_TEMP, OTHER)
    assert parts.answers.get(job) is None and parts.queue.contains(job)
    parts.dispatch()
    assert list(parts.lane.fed) == [OTHER]
    parts.answer(OTHER, Status.FETCH_SUCCESS)
    finished = parts.answers.get(job)
    assert finished is not None and [hop.url for hop in finished.hops] == [URL]
    assert finished.url == OTHER


@pytest.mark.parametrize("step", range(1, 11))
def test_a_death_at_any_step_loses_nothing_and_asks_for_nothing_that_is_stored(
    parts: Parts, step: int
) -> None:
    jobs = [fed(parts), fed(parts, OTHER)]
    parts.mortal.dies_at(step)
    with pytest.raises(Death):
        parts.answer(URL, Status.FETCH_SUCCESS)
        parts.answer(OTHER, Status.FETCH_SUCCESS)
        raise Death
    parts.die()
    parts.begin()
    stored = {url for url in (URL, OTHER) if parts.pages.get([url])[0] is not None}
    parts.dispatch()
    assert set(parts.lane.times).isdisjoint(stored)
    for url in list(parts.lane.fed):
        parts.answer(url, Status.FETCH_SUCCESS)
    for job in jobs:
        finished = parts.answers.get(job)
        assert finished is not None and finished.state is JobState.FINISHED
    assert parts.queue.count().unfinished == 0


@pytest.mark.parametrize("reason", ["service_ends", "hung", "crashed", "ended", "interrupted"])
def test_what_the_lane_could_not_do_is_left_to_who_comes_next(parts: Parts, reason: str) -> None:
    job = fed(parts)
    for _ in range(5):  # more often than a job is tried
        parts.give_back(URL, reason)
        parts.dispatch()
    assert parts.queue.contains(job) and parts.answers.get(job) is None
    parts.answer(URL, Status.FETCH_SUCCESS)
    assert parts.answers.get(job) is not None


def test_a_server_that_does_not_answer_ends_a_job_after_its_tries(parts: Parts) -> None:
    job = fed(parts)
    for _ in range(3):
        parts.answer(URL, Status.FETCH_RETRY)
        parts.dispatch()
    finished = parts.answers.get(job)
    assert finished is not None and finished.page is not None
    assert finished.page.status == Status.FETCH_RETRY
    assert parts.lane.times == {URL: 3}


def test_a_host_whose_robots_cannot_be_had_ends_its_jobs_at_once_and_each_counts_once(
    parts: Parts,
) -> None:
    """The fetcher refuses them by itself for minutes: further tries would ask nobody."""
    jobs = [fed(parts, f"{URL}{n}") for n in range(2)]
    for n in range(2):
        parts.give_back(f"{URL}{n}", "robots_deferred")
    parts.dispatch()
    assert not parts.lane.fed and set(parts.lane.times.values()) == {1}
    ends = [parts.answers.get(job) for job in jobs]
    assert [end and (end.state, end.reason) for end in ends] == [
        (JobState.REFUSED, "robots_deferred")
    ] * 2
    assert parts.counters["refused.robots_deferred"] == 2
    assert parts.counters["tried_again"] == 0


def test_many_who_waited_for_a_page_are_told_some_at_a_time(parts: Parts) -> None:
    wishes = [Wish(url=URL) for _ in range(3 * MAX_BATCH + 1)]
    parts.submit(*wishes)
    parts.dispatch()
    stored: list[int] = []
    store = parts.heard.store
    parts.heard.store = lambda finished: (stored.append(len(finished)), store(finished))[1]  # type: ignore
    parts.answer(URL, Status.FETCH_SUCCESS)
    assert stored == [MAX_BATCH] * 3 + [1]
    assert len(parts.heard.told) == len(wishes)
