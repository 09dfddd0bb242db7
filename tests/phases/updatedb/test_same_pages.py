from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from crawl.model.hosts import HostState
from crawl.phases.updatedb.same_pages import SamePagesRule, after_pages

HOUR = 3_600_000
RULE = SamePagesRule(50, HOUR, 24 * HOUR)
NEW = HostState("x.org")
SOFT_404 = b"soft 404"


def different(count: int, salt: str = "") -> dict[bytes, int]:
    return {f"{salt}{number}".encode(): 1 for number in range(count)}


def test_a_host_of_honest_pages_has_no_state_at_all() -> None:
    state = NEW
    for number in range(20):
        state = after_pages(state, different(100, f"{number}."), number, RULE)
        assert state == NEW


def test_a_few_that_are_the_same_slow_nobody() -> None:
    state = after_pages(NEW, {SOFT_404: 40, **different(40)}, 1, RULE)
    assert (state.repeats, state.pages, state.slowed) == (40, 80, 0)
    state = after_pages(NEW, {SOFT_404: 49}, 1, RULE)
    assert state.slowed == 0, "too few to tell"


def test_more_of_the_same_waits_for_longer_each_time_up_to_a_bound() -> None:
    state, waits = NEW, []
    for number in range(8):
        at = number * 100 * HOUR
        state = after_pages(state, {SOFT_404: 60}, at, RULE)
        waits.append((state.slow_until - at) // HOUR)
        assert state.pages <= 200
    assert waits == [1, 2, 4, 8, 16, 24, 24, 24]


def test_other_pages_end_it() -> None:
    state = after_pages(NEW, {SOFT_404: 200}, 1, RULE)
    assert state.slowed == 1
    rounds = 0
    while state.slowed:
        state = after_pages(state, different(10, f"{rounds}."), 2, RULE)
        rounds += 1
    assert rounds <= 3
    assert state.slow_until == 0


def test_the_usual_page_may_be_another_one_some_day() -> None:
    state = after_pages(NEW, {b"old": 60}, 1, RULE)
    state = after_pages(state, {b"new": 70}, 2, RULE)
    assert (state.signature, state.repeats, state.pages) == (b"new", 70, 70)


def test_where_it_is_switched_off_nothing_is_kept() -> None:
    assert after_pages(NEW, {SOFT_404: 1000}, 1, SamePagesRule(0, HOUR, HOUR)) == NEW


@given(st.lists(st.lists(st.sampled_from([b"a", b"b", b"c", b"d"]), max_size=80), max_size=8))
def test_whatever_comes_it_is_bounded(rounds: list[list[bytes]]) -> None:
    state = NEW
    for number, pages in enumerate(rounds):
        state = after_pages(state, Counter(pages), number, RULE)
        assert 0 <= state.repeats <= state.pages <= 4 * RULE.min_pages
        assert state.slow_until <= number + RULE.longest_ms
        assert bool(state.slowed) == bool(state.slow_until)
        if state.slowed:
            assert state.repeats > 0.9 * state.pages
