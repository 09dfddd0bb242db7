from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import structs

from crawl.model.answer_keys import ETAG_KEY
from crawl.model.status import Status
from crawl.service.values import JobState, Page, Priority, Wish
from crawl.testing.clock import ManualClock
from tests.service.parts_in_process import Parts

START_MS = 1_800_000_000_000
URL = "http://a.org/1"


@pytest.fixture
def parts(tmp_path: Path) -> Iterator[Parts]:
    parts = Parts(tmp_path / "queue", ManualClock(START_MS))
    yield parts
    parts.close()


def page(url: str = URL, *, age_s: float, status: Status = Status.FETCH_SUCCESS) -> Page:
    fetched_ms = START_MS - round(age_s * 1000)
    return Page(url=url, status=int(status), fetched_ms=fetched_ms, etag='"1"', segment="s")


def test_what_was_submitted_is_fed_and_ends_with_its_answer(parts: Parts) -> None:
    (submitted,) = parts.submit(Wish(url=URL))
    assert parts.wakes == 1
    parts.dispatch()
    assert list(parts.lane.fed) == [URL]
    parts.answer(URL, Status.FETCH_SUCCESS)
    finished = parts.answers.get(submitted.id)
    assert finished is not None and finished.state is JobState.FINISHED
    assert not parts.lane.fed and parts.queue.count().unfinished == 0


def test_one_url_is_under_way_once_and_ends_all_who_wait_for_it(parts: Parts) -> None:
    ids = [parts.submit(Wish(url=URL))[0].id for _ in range(5)]
    parts.dispatch()
    parts.dispatch()
    parts.answer(URL, Status.FETCH_SUCCESS)
    assert parts.lane.times == {URL: 1}
    assert {each.job for each in parts.heard.told} == set(ids)


def test_a_job_that_comes_while_the_answer_is_stored_does_not_starve(parts: Parts) -> None:
    parts.submit(Wish(url=URL))
    parts.dispatch()
    find = parts.queue.find
    late: list[str] = []

    def found_too_early(urls: object) -> object:
        found = find([URL])
        parts.queue.find = find  # type: ignore
        if not late:  # just when the finisher has looked who waits for the page
            late.append(parts.submit(Wish(url=URL, max_age_s=60))[0].id)
            parts.dispatcher.feed_some()
        return found

    parts.queue.find = found_too_early  # type: ignore
    parts.answer(URL, Status.FETCH_SUCCESS)
    assert parts.answers.get(late[0]) is None
    parts.dispatch()
    assert parts.answers.get(late[0]) is not None, "it is answered by what came meanwhile"
    assert parts.lane.times == {URL: 1}


def test_a_job_that_wants_it_newer_than_that_is_fed_again(parts: Parts) -> None:
    parts.submit(Wish(url=URL))
    parts.dispatch()
    parts.clock.advance(5)
    parts.lane.fed[URL]  # still under way
    (late,) = parts.submit(Wish(url=URL, max_age_s=0))
    assert late.state is JobState.JOINED
    parts.dispatch()
    parts.answer(URL, Status.FETCH_SUCCESS)
    assert parts.answers.get(late.id) is not None


def test_what_was_fetched_before_a_death_is_not_asked_for_again(parts: Parts) -> None:
    (submitted,) = parts.submit(Wish(url=URL, max_age_s=0))
    parts.pages.put([page(age_s=-1)])
    parts.dispatch()
    assert parts.answers.get(submitted.id) is not None
    assert not parts.lane.times
    assert parts.counters["answered_while_waiting"] == 1


def test_what_did_not_change_is_not_sent_again(parts: Parts) -> None:
    parts.pages.put([page(age_s=1e6)])
    parts.submit(Wish(url=URL))
    parts.dispatch()
    assert parts.lane.fed[URL].metadata == {ETAG_KEY: '"1"'}


def test_what_was_cut_is_asked_for_whole(parts: Parts) -> None:
    cut = structs.replace(page(age_s=1e6), truncated="length", changed_ms=START_MS)
    parts.pages.put([cut])
    parts.submit(Wish(url=URL))
    parts.dispatch()
    assert parts.lane.fed[URL].metadata == {}
    assert parts.lane.fed[URL].modified_time == 0


def test_pages_of_a_site_crawl_are_wanted_with_their_links(parts: Parts) -> None:
    parts.pages.put([page(age_s=1e6)])
    parts.submit(Wish(url=URL, crawl="c", max_age_s=0))
    parts.dispatch()
    assert parts.lane.fed[URL].metadata == {}


def test_of_a_host_no_more_is_in_the_lane_than_it_can_take(parts: Parts) -> None:
    parts.submit(*(Wish(url=f"http://many.org/{n}") for n in range(100)))
    parts.submit(*(Wish(url=f"http://{n}.org/") for n in range(100)))
    parts.dispatch()
    hosts = Counter(url.split("/")[2] for url in parts.lane.fed)
    assert hosts["many.org"] == parts.lane.max_per_host
    assert len(hosts) == 101


def test_ten_thousand_of_a_host_delay_nobody(parts: Parts) -> None:
    """By steps of a second, in which each host answers once: whoever comes has his answer in the
    step after he came, whatever else waits."""
    for at in range(0, 10_000, 1000):
        parts.submit(*(Wish(url=f"http://many.org/{at + n}") for n in range(1000)))
    # and hosts that never answer
    parts.submit(*(Wish(url=f"http://dead{n}.org/{k}") for n in range(300) for k in range(3)))
    for second in range(20):
        (mine,) = parts.submit(Wish(url=f"http://other{second}.org/"))
        parts.dispatch()
        parts.clock.advance(1)
        answering = {url.split("/")[2]: url for url in parts.lane.fed if "dead" not in url}
        for url in answering.values():
            parts.answer(url, Status.FETCH_GONE)
        assert parts.answers.get(mine.id) is not None
    assert sum("many.org" in url for url in parts.lane.times) in (20, 21, 22)


def test_a_full_lane_is_fed_by_priority_and_low_has_its_share(parts: Parts) -> None:
    parts.lane.most = 27
    for priority in Priority:
        urls = [f"http://{priority.label}{n}.org/" for n in range(60)]
        parts.submit(*(Wish(url=url, priority=priority) for url in urls))
    parts.dispatch()
    fed = Counter(url.removeprefix("http://").rstrip("/.org0123456789") for url in parts.lane.fed)
    assert fed["high"] == 24 and fed["normal"] == 3
    served = Counter[str]()
    while len(parts.lane.fed) and not served["low"]:
        for url in list(parts.lane.fed):
            parts.answer(url, Status.FETCH_GONE)
            served[url.removeprefix("http://").rstrip("/.org0123456789")] += 1
        parts.dispatch()
    assert served["high"] < 60 or served["normal"] < 60 or served["low"] == 0


def test_a_failed_try_waits_for_the_pause_of_its_server(parts: Parts) -> None:
    parts.submit(Wish(url=URL))
    parts.dispatch()
    parts.lane.pause["a.org"] = 30.0
    parts.answer(URL, Status.FETCH_RETRY)
    parts.dispatch()
    assert not parts.lane.fed
    assert parts.queue.next_due_ms(parts.clock.now_ms()) == START_MS + 30_000
    parts.clock.advance(30)
    parts.dispatch()
    assert list(parts.lane.fed) == [URL]
