from __future__ import annotations

from crawl.robots.stored import StoredAnswer
from crawl.service.fetching.robots_waits import RobotsWaits, TimedRobots
from crawl.service.fetching.shared_robots import SharedRobots
from crawl.service.stores.memory import MemoryStore
from crawl.testing.clock import ManualClock

A, B = "http://a:80", "http://b:80"


def test_only_the_common_part_of_two_spans_counts() -> None:
    clock = ManualClock(10_000)
    waits = RobotsWaits(clock)
    waits.begin(A)
    clock.advance(3)
    waits.begin(A)  # another page looks for them: they are asked for already
    waits.end(A)
    assert waits.within(A, 9_000, 20_000) == 3_000
    assert waits.within(A, 11_000, 20_000) == 2_000
    assert waits.within(A, 11_000, 12_500) == 1_500
    assert waits.within(A, 13_000, 20_000) == 0
    assert waits.within(B, 0, 20_000) == 0


def test_an_answer_that_never_came_counts_until_now() -> None:
    clock = ManualClock(10_000)
    waits = RobotsWaits(clock)
    waits.begin(A)
    assert waits.within(A, 9_000, 15_000) == 5_000
    waits.end(B)  # nobody has asked
    assert waits.within(B, 0, 20_000) == 0


def test_an_answer_that_never_came_is_over_with_the_page_that_waited_for_it() -> None:
    clock = ManualClock(10_000)
    waits = RobotsWaits(clock)
    waits.begin(A)
    assert waits.within(A, 5_000, 9_000) == 0, "of a page that was asked for before"
    assert waits.within(A, 9_000, 15_000) == 5_000
    assert waits.within(A, 20_000, 30_000) == 0
    clock.advance(30)
    waits.begin(A)
    assert waits.within(A, 20_000, 41_000) == 1_000


def test_another_process_is_told_what_is_over() -> None:
    clock = ManualClock(10_000)
    seen, told = RobotsWaits(clock), RobotsWaits(clock)
    assert seen.span(A) == (0, 0)
    seen.begin(A)
    assert seen.span(A) == (0, 0)
    clock.advance(2)
    seen.end(A)
    told.keep(A, *seen.span(A))
    assert told.within(A, 11_000, 20_000) == 1_000


def test_rules_that_are_asked_for_anew_begin_anew() -> None:
    clock = ManualClock(10_000)
    waits = RobotsWaits(clock)
    waits.begin(A)
    waits.end(A)
    clock.advance(100)
    waits.begin(A)
    clock.advance(1)
    waits.end(A)
    assert waits.within(A, 0, 200_000) == 1_000


def test_those_that_were_asked_last_are_remembered() -> None:
    clock = ManualClock(10_000)
    waits = RobotsWaits(clock, most=10)
    for place in range(100):
        waits.begin(f"http://h{place}:80")
        clock.advance(1)
    assert len(waits) == 10
    assert waits.within("http://h0:80", 0, 200_000) == 0
    assert waits.within("http://h99:80", 0, 110_000) == 1_000


def test_the_wait_is_from_the_first_who_asks_until_the_answer_is_brought() -> None:
    clock = ManualClock(1_800_000_000_000)
    waits = RobotsWaits(clock)
    robots = TimedRobots(SharedRobots(MemoryStore(clock), clock, 3600.0), waits)
    begun_ms = clock.now_ms()
    assert robots.take(A) is None
    clock.advance(2)
    robots.add(StoredAnswer(A, clock.now_ms(), clock.now_ms() + 60_000, 200, f"{A}/robots.txt"))
    clock.advance(1)
    robots.shared.flush()
    assert waits.within(A, begun_ms, clock.now_ms()) == 2000
    assert robots.take(A) is not None
    clock.advance(5)
    assert waits.within(A, begun_ms, clock.now_ms()) == 2000, "nobody asked again"
