from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.config import load
from crawl.model.status import Status
from crawl.service.intake.decide import Action, Checked, Decision, Load, Policy, decide
from crawl.service.intake.freshness import Freshness
from crawl.service.settings import QueueBounds
from crawl.service.values import Page, Priority, Wish

NOW = 1_800_000_000_000
URL = "http://a.org/"
POLICY = Policy(Freshness(100.0, 10.0, {"*.news.org": 1.0}), QueueBounds((1, 2, 3), 5))


def page(age_s: float, status: Status = Status.FETCH_SUCCESS) -> Page:
    return Page(url=URL, status=int(status), fetched_ms=NOW - round(age_s * 1000))


def decided(
    wish: Wish | None = None,
    known: Page | None = None,
    *,
    host: str = "a.org",
    refusal: str = "",
    is_in_flight: bool = False,
    load: Load | None = None,
) -> Decision:
    return decide(
        wish or Wish(url=URL),
        Checked(URL, host, refusal),
        known,
        is_in_flight=is_in_flight,
        load=load or Load(),
        policy=POLICY,
        now_ms=NOW,
    )


def test_what_is_not_known_is_fetched() -> None:
    assert decided() == Decision(Action.FETCH)


def test_what_is_fresh_answers_and_what_is_old_is_fetched() -> None:
    fresh = page(99)
    assert decided(known=fresh) == Decision(Action.ANSWER, page=fresh)
    assert decided(known=page(100)).action is Action.FETCH


def test_a_wish_may_have_an_age_of_its_own() -> None:
    assert decided(Wish(url=URL, max_age_s=0), page(0)).action is Action.FETCH
    assert decided(Wish(url=URL, max_age_s=500), page(400)).action is Action.ANSWER


def test_windows_are_those_of_the_domain() -> None:
    assert decided(known=page(2), host="www.news.org").action is Action.FETCH
    assert decided(known=page(2), host="news.org").action is Action.FETCH
    assert decided(known=page(2), host="a.org").action is Action.ANSWER


def test_a_failure_does_not_answer_for_long_whatever_the_wish() -> None:
    gone = page(11, Status.FETCH_GONE)
    assert decided(known=gone).action is Action.FETCH
    assert decided(Wish(url=URL, max_age_s=1000), gone).action is Action.FETCH
    assert decided(known=page(9, Status.FETCH_GONE)).action is Action.ANSWER


def test_what_is_on_its_way_is_joined_unless_it_is_known() -> None:
    assert decided(is_in_flight=True).action is Action.JOIN
    assert decided(known=page(1), is_in_flight=True).action is Action.ANSWER


def test_a_flood_of_one_url_has_the_bound_of_any_other() -> None:
    for much in (Load(of_priority=2), Load(of_host=5)):
        assert decided(is_in_flight=True, load=much).action is Action.OVERLOAD


def test_too_much_waiting_is_refused_with_a_time_to_come_back() -> None:
    busy = decided(load=Load(of_priority=2, per_second=10))
    assert (busy.action, busy.reason) == (Action.OVERLOAD, "busy")
    assert 1 <= busy.retry_after_s <= 600
    domain = decided(load=Load(of_host=5))
    assert (domain.action, domain.reason) == (Action.OVERLOAD, "host_busy")


def test_classes_have_bounds_of_their_own() -> None:
    full = Load(of_priority=1)
    assert decided(Wish(url=URL, priority=Priority.HIGH), load=full).action is Action.OVERLOAD
    assert decided(Wish(url=URL, priority=Priority.LOW), load=full).action is Action.FETCH


def test_a_site_crawl_is_not_bound_by_its_domain() -> None:
    assert decided(Wish(url=URL, crawl="c"), load=Load(of_host=5)).action is Action.FETCH


@given(
    st.booleans(),
    st.booleans(),
    st.none() | st.floats(0, 200),
    st.integers(0, 10),
    st.integers(0, 10),
    st.floats(0, 1e6),
)
def test_every_wish_is_decided_and_every_refusal_has_a_reason(
    is_refused: bool,
    is_in_flight: bool,
    age_s: float | None,
    of_priority: int,
    of_host: int,
    rate: float,
) -> None:
    decision = decided(
        known=None if age_s is None else page(age_s),
        refusal="filtered.regex" if is_refused else "",
        is_in_flight=is_in_flight,
        load=Load(of_priority, of_host, rate),
    )
    assert bool(decision.reason) == (decision.action in (Action.REFUSE, Action.OVERLOAD))
    assert (decision.page is not None) == (decision.action is Action.ANSWER)
    assert (decision.retry_after_s > 0) == (decision.action is Action.OVERLOAD)
    if is_refused:
        assert decision.action is Action.REFUSE


def test_bounds_are_those_of_the_settings() -> None:
    bounds = QueueBounds.of(load())
    assert [bounds.of_priority(each) for each in Priority] == [20_000, 100_000, 1_000_000]


@pytest.mark.parametrize("label", ["high", "normal", "low"])
def test_priorities_have_names(label: str) -> None:
    assert Priority.of_label(label).label == label


def test_a_priority_that_is_none_is_told() -> None:
    with pytest.raises(ValueError, match="expected one of high, normal, low, got 'urgent'"):
        Priority.of_label("urgent")
