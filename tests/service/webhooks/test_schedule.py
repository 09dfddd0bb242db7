from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from crawl.service.callers.settings_access import WebhookSettings
from crawl.service.webhooks.retry import retry_wait
from crawl.service.webhooks.schedule import DeliverySchedule
from tests.examples import scaled


def test_nothing_before_its_time_and_few_of_one_endpoint() -> None:
    schedule = DeliverySchedule(2)
    assert schedule.next_ms() is None
    for number in range(3):
        assert schedule.add("a", f"a{number}", 100 + number)
    assert not schedule.add("a", "a0", 5)
    assert schedule.take(99) is None
    assert schedule.next_ms() == 100
    assert schedule.take(200) == ("a", "a0")
    assert schedule.take(200) == ("a", "a1")
    assert schedule.take(200) is None
    schedule.done("a", "a0", 200)
    assert schedule.take(200) == ("a", "a2")
    assert len(schedule) == 2


def test_a_long_backlog_holds_no_other_endpoint_up() -> None:
    schedule = DeliverySchedule(1)
    for number in range(100):
        schedule.add("a", f"a{number:02}", 0)
    schedule.add("b", "b0", 50)
    assert schedule.take(100) == ("a", "a00")
    schedule.done("a", "a00", 100)
    assert schedule.take(100) == ("b", "b0")
    assert schedule.take(100) == ("a", "a01")


def test_an_endpoint_that_is_held_back() -> None:
    schedule = DeliverySchedule(2)
    schedule.add("a", "a0", 0)
    schedule.add("b", "b0", 0)
    schedule.hold_back("a", 500)
    assert schedule.take(100) == ("b", "b0")
    assert schedule.take(100) is None
    assert schedule.next_ms() == 500
    assert schedule.take(500) == ("a", "a0")


def test_cleared_but_for_what_is_under_way() -> None:
    schedule = DeliverySchedule(1)
    schedule.add("a", "a0", 0)
    schedule.add("a", "a1", 0)
    assert schedule.take(0) == ("a", "a0")
    schedule.clear()
    assert "a0" in schedule
    assert not schedule.add("a", "a0", 0)
    assert schedule.add("a", "a1", 0)
    schedule.done("a", "a0", 0)
    assert schedule.take(0) == ("a", "a1")


@settings(max_examples=scaled(300))
@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 50)), max_size=30),
    st.integers(1, 3),
    st.randoms(use_true_random=False),
)
def test_everything_is_taken_once_in_time_and_within_the_limit(
    added: list[tuple[str, int]], limit: int, chance: object
) -> None:
    schedule = DeliverySchedule(limit)
    due = {str(number): each for number, each in enumerate(added)}
    for key, (webhook, due_ms) in due.items():
        schedule.add(webhook, key, due_ms)
    taken: list[str] = []
    under_way: list[tuple[str, str]] = []
    now = 0
    while len(taken) < len(due):
        found = schedule.take(now)
        if found is not None:
            webhook, key = found
            assert due[key][0] == webhook
            assert due[key][1] <= now
            under_way.append(found)
            taken.append(key)
            assert sum(each[0] == webhook for each in under_way) <= limit
        elif under_way and chance.random() < 0.7:  # type: ignore[attr-defined]
            schedule.done(*under_way.pop(0), now)
        else:
            after = schedule.next_ms()
            assert after is not None or under_way, "something waits, and nobody comes for it"
            now = max(now + 1, after or 0)
    assert sorted(taken) == sorted(due)


def test_waits_grow_up_to_the_longest() -> None:
    settings = WebhookSettings()
    waits = [retry_wait(settings, attempts, None, lambda: 0.5) for attempts in range(1, 100)]
    assert waits[:4] == [5, 20, 80, 320]
    assert waits == sorted(waits)
    assert waits[-1] == 6 * 3600
    assert sum(waits[: settings.attempts - 1]) > 6 * 3600
    assert retry_wait(settings, 1, None, lambda: 0.0) == 3.75
    assert retry_wait(settings, 1, None, lambda: 1.0) == 6.25
    assert retry_wait(settings, 1, 100.0, lambda: 0.5) == 100
    assert retry_wait(settings, 1, 1e9, lambda: 0.5) == 6 * 3600
    assert retry_wait(settings, 1_000_000, None, lambda: 0.5) == 6 * 3600
