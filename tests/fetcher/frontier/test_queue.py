from __future__ import annotations

import pytest

from crawl.fetcher.frontier.queue import HostQueue
from crawl.fetcher.values.item import FetchItem, Purpose
from crawl.fetcher.values.politeness import ServerPace
from tests.fetcher.small_web import DUE


def item(name: str, purpose: Purpose = Purpose.PAGE, host: str = "a.org") -> FetchItem:
    return FetchItem(f"http://{host}/{name}", host, f"http://{host}", "a.org", DUE, purpose)


def has_work(queue: HostQueue) -> bool:
    """Reads the property anew: a type checker assumes that it stays what it was."""
    return queue.has_work


@pytest.fixture
def queue() -> HostQueue:
    return HostQueue("a.org", ServerPace(5.0))


def test_pages_come_out_in_the_order_they_went_in(queue: HostQueue) -> None:
    one, two, back = item("1"), item("2"), item("back")
    queue.put(one)
    queue.put(two)
    queue.put(back, first=True)
    taken = []
    while queue.has_work:
        taken.append(queue.take())
        queue.give_back(0.0, asked=False)
    assert taken == [back, one, two]


def test_robots_is_served_first_and_while_pages_are_held(queue: HostQueue) -> None:
    page, robots = item("1"), item("robots.txt", Purpose.ROBOTS)
    queue.put(page)
    queue.awaited_rules = 1
    assert has_work(queue) is False
    queue.put(robots)
    assert has_work(queue) is True
    assert queue.take() is robots
    queue.give_back(0.0, asked=True)
    assert not queue.has_work
    queue.awaited_rules = 0
    assert queue.take() is page


def test_the_next_host_is_the_one_of_the_item_that_is_taken_next(queue: HostQueue) -> None:
    queue.put(item("1", host="one.a.org"))
    assert queue.next_host == "one.a.org"
    queue.put(item("robots.txt", Purpose.ROBOTS, host="two.a.org"))
    assert queue.next_host == "two.a.org"
    assert queue.take().host == "two.a.org"


def test_slots_are_as_many_as_the_pace_allows() -> None:
    queue = HostQueue("a.org", ServerPace(0.0, at_once=2))
    for n in range(3):
        queue.put(item(str(n)))
    queue.take()
    assert has_work(queue) is True
    queue.take()
    assert has_work(queue) is False
    assert queue.waiting == 1
    queue.give_back(0.0, asked=True)
    assert has_work(queue) is True


def test_a_pause_begins_when_a_request_ends_and_only_if_there_was_one(queue: HostQueue) -> None:
    queue.put(item("1"))
    queue.take()
    queue.give_back(10.0, asked=False)
    assert queue.ready_at == 0.0
    queue.put(item("2"))
    queue.take()
    queue.give_back(10.0, asked=True)
    assert queue.ready_at == 15.0


def test_a_moment_to_wait_for_never_comes_nearer(queue: HostQueue) -> None:
    queue.wait_until(100.0)
    queue.wait_until(50.0)
    assert queue.ready_at == 100.0
    queue.put(item("1"))
    queue.take()
    queue.give_back(60.0, asked=True)
    assert queue.ready_at == 100.0


def test_a_pace_of_robots_txt_stays_the_floor(queue: HostQueue) -> None:
    queue.slow_down(ServerPace(9.0), 9.0)
    queue.slow_down(ServerPace(7.0), 7.0)
    assert queue.min_delay_s == 9.0


def test_draining_takes_everything_out(queue: HostQueue) -> None:
    pages = [item("1"), item("2")]
    robots = item("robots.txt", Purpose.ROBOTS)
    for each in (*pages, robots):
        queue.put(each)
    assert queue.drain() == [robots, *pages]
    assert queue.waiting == 0
    assert not queue.has_work
