from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.model.hosts import UNANSWERED, HostState, HostTrouble, merged_troubles
from crawl.rules.host_wait import MIN_BASE_MS, after_segment, waits_until

DAY = 86_400_000
NEW = HostState("x.org")
DEAD = HostTrouble("x.org", "robots_deferred", 1000, 1000, 300_000, True)

moments = st.integers(1, 10**13)
TROUBLES = st.builds(
    HostTrouble,
    st.just("x.org"),
    st.sampled_from(["robots_deferred", "too_many_failures", "failures"]),
    moments,
    moments,
    st.integers(0, 10**9),
    st.booleans(),
)


def rounds_in_vain(rounds: int, longest_ms: int = DAY) -> list[HostState]:
    states = [NEW]
    for number in range(rounds):
        trouble = replace(DEAD, at=1000 + number * DAY, until=0)
        states.append(after_segment(states[-1], trouble, 0, longest_ms))
    return states[1:]


def test_the_wait_doubles_up_to_a_bound() -> None:
    states = rounds_in_vain(12)
    waits = [(state.wait_until - state.last) // 60_000 for state in states]
    assert waits == [5, 10, 20, 40, 80, 160, 320, 640, 1280, 1440, 1440, 1440]
    assert [state.failures for state in states] == list(range(1, 13))
    assert {state.since for state in states} == {1000}


def test_an_answer_ends_it() -> None:
    state = rounds_in_vain(3)[-1]
    assert after_segment(state, None, state.last + 1, DAY) == NEW
    assert after_segment(state, None, state.last - 1, DAY) == state, "an older one does not"


def test_a_host_that_also_answered_keeps_its_pause_and_is_not_doubled() -> None:
    state = rounds_in_vain(3)[-1]
    trouble = replace(DEAD, at=state.last + 5, until=0)
    after = after_segment(state, trouble, state.last + 1, DAY)
    assert (after.failures, after.wait_until - after.last) == (0, 300_000)
    owed = replace(trouble, gave_up=False, until=trouble.at + 7_000)
    after = after_segment(state, owed, state.last + 1, DAY)
    assert (after.failures, after.wait_until - after.last) == (0, 7_000)


def test_a_retry_after_is_not_shortened_but_by_the_bound() -> None:
    asked = replace(DEAD, until=DEAD.at + 3_600_000)
    assert after_segment(NEW, asked, 0, DAY).wait_until == DEAD.at + 3_600_000
    endless = replace(DEAD, until=DEAD.at + 1000 * DAY)
    assert after_segment(NEW, endless, 0, DAY).wait_until == DEAD.at + DAY


def test_a_crawl_without_pauses_has_waits_all_the_same() -> None:
    trouble = replace(DEAD, base_ms=0)
    assert after_segment(NEW, trouble, 0, DAY).wait_until == DEAD.at + MIN_BASE_MS


@pytest.mark.parametrize("longest", [0, 1000, DAY])
def test_a_shorter_bound_counts_for_old_waits_too(longest: int) -> None:
    state = rounds_in_vain(12)[-1]
    assert waits_until(state, longest) == state.last + longest


@given(st.lists(TROUBLES, max_size=8), st.lists(moments | st.just(0), min_size=8, max_size=8))
def test_every_wait_is_bounded_and_nothing_old_undoes_it(
    troubles: list[HostTrouble], answers: list[int]
) -> None:
    state = NEW
    for trouble, answered in zip(troubles, answers, strict=False):
        before, state = state, after_segment(state, trouble, answered, DAY)
        assert state.wait_until <= state.last + DAY
        assert state.last >= before.last
        if state != before:
            asked = min(trouble.until, trouble.at + DAY)
            assert state.wait_until >= asked, "no pause that was asked for is cut"
        assert 0 <= state.failures <= before.failures + 1


@given(st.lists(TROUBLES, min_size=1, max_size=6), st.randoms())
def test_what_several_tasks_report_is_one_whatever_their_order(
    troubles: list[HostTrouble], chance: Random
) -> None:
    (one,) = merged_troubles(troubles)
    chance.shuffle(troubles)
    assert merged_troubles(troubles) == [one]
    assert one.until == max(trouble.until for trouble in troubles)
    assert one.gave_up == any(trouble.gave_up for trouble in troubles)


def test_that_a_host_may_be_slow_is_remembered_until_it_is_in_other_trouble() -> None:
    given_up = replace(DEAD, reason=UNANSWERED)
    put_off = after_segment(NEW, given_up, 0, DAY)
    assert put_off.wait_until == 301_000
    answers = after_segment(put_off, None, 2000, DAY)
    assert answers == replace(NEW, reason=UNANSWERED)
    assert after_segment(answers, None, 3000, DAY) == answers
    assert after_segment(answers, DEAD, 0, DAY).reason == DEAD.reason
