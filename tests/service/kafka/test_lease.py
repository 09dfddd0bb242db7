"""How long a member may act as an owner."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from crawl.service.kafka.lease import Lease


def test_it_counts_from_when_the_question_was_sent() -> None:
    lease = Lease(6.0, 1.5)
    assert not lease.holds(100.0)
    assert lease.asks(100.0)
    assert not lease.asks(101.0)  # the answer to the first is not there
    lease.answered(is_taken=True)  # however late it comes
    assert lease.holds(104.4)
    assert not lease.holds(104.5)


def test_an_answer_that_refuses_renews_nothing() -> None:
    lease = Lease(6.0, 1.5)
    assert lease.asks(100.0)
    lease.answered(is_taken=False)
    assert not lease.holds(100.0)
    assert lease.asks(101.0)
    lease.answered(is_taken=True)
    assert lease.holds(105.0)


def test_what_was_asked_before_it_was_lost_does_not_count() -> None:
    lease = Lease(6.0, 1.5)
    assert lease.asks(100.0)
    lease.answered(is_taken=True)
    assert lease.asks(101.0)
    lease.lose()
    assert not lease.holds(100.0)
    lease.answered(is_taken=True)
    assert not lease.holds(101.0)
    assert lease.asks(102.0)
    lease.answered(is_taken=True)
    assert lease.holds(102.0)


@given(
    st.lists(
        st.tuples(
            st.floats(0, 5), st.sampled_from(("ask", "taken", "refused", "lose")), st.floats(0, 20)
        ),
        max_size=60,
    )
)
def test_it_never_holds_when_the_coordinator_may_have_given_the_partitions_away(
    steps: list[tuple[float, str, float]],
) -> None:
    """Against a coordinator that begins the session anew when it gets the question, which is never
    before it was sent."""
    session_s, margin_s = 6.0, 1.5
    lease, now = Lease(session_s, margin_s), 0.0
    asked: float | None = None
    given_away_at = float("-inf")
    for pause, step, look in steps:
        now += pause
        if step == "ask" and lease.asks(now):
            asked = now
        elif step in ("taken", "refused"):
            lease.answered(is_taken=step == "taken")
            if step == "taken" and asked is not None:
                given_away_at = max(given_away_at, asked + session_s)
            asked = None
        elif step == "lose":
            lease.lose()
            given_away_at, asked = float("-inf"), None
        if lease.holds(now + look):
            assert now + look < given_away_at - margin_s + 1e-6
