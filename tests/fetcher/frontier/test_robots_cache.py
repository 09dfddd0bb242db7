from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.fetcher.engine.engine import FetchEngine
from crawl.fetcher.frontier.robots_cache import RobotsCache
from crawl.robots.rules import Basis, RobotRules, allow_all
from crawl.robots.stored import MAX_AGE_S
from tests.fetcher.small_web import SmallWeb, fetch

RULES = allow_all(Basis.ABSENT)
A, B = "http://a.org", "https://a.org"


def test_rules_are_believed_until_they_expire() -> None:
    cache = RobotsCache(100.0)
    assert cache.rules_of(A, 0.0) is None
    cache.learn(A, RULES, 10.0)
    assert cache.rules_of(A, 109.9) is RULES
    assert cache.rules_of(B, 20.0) is None, "another scheme, another authority"
    assert cache.rules_of(A, 110.0) is None
    assert cache.rules_of(A, 50.0) is None, "forgotten for good"


def test_an_authority_is_being_asked_until_it_is_known_or_given_up() -> None:
    cache = RobotsCache(100.0)
    cache.ask(A, "a.org")
    cache.ask(B, "192.0.2.1")
    assert (cache.asker_of(A), cache.asker_of(B)) == ("a.org", "192.0.2.1")
    cache.learn(A, RULES, 0.0)
    assert cache.asker_of(A) is None
    cache.give_up(B)
    assert cache.asker_of(B) is None
    cache.give_up("http://never-asked.org")


def test_vain_tries_are_counted_until_one_succeeds() -> None:
    cache = RobotsCache(100.0)
    assert [cache.failed(A), cache.failed(A), cache.failed(B)] == [1, 2, 1]
    cache.learn(A, RULES, 0.0)
    assert cache.failed(A) == 1
    cache.give_up(B)
    assert cache.failed(B) == 1


def test_a_pause_that_was_asked_for_is_remembered() -> None:
    cache = RobotsCache(100.0)
    assert cache.delays == {}
    cache.learn(A, RobotRules(Basis.FILE, crawl_delay_s=4.0), 0.0)
    assert cache.delays == {A: 4.0}
    cache.learn(A, RULES, 5.0)
    assert cache.delays == {}


def test_rules_serve_once_however_soon_they_expire() -> None:
    cache = RobotsCache(0.0)
    cache.learn(A, RULES, 5.0)
    assert cache.rules_of(A, 9.0) is RULES
    assert cache.rules_of(A, 9.0) is None


def test_rules_that_expire_within_a_pause_do_not_keep_pages_from_being_fetched() -> None:
    urls = [f"http://a.org/p{n}" for n in range(5)]
    web = SmallWeb(dict.fromkeys(urls, "x"))
    done = fetch(web, urls, delay_s=5.0, robots_expire_s=1.0)
    assert len(done.records) == 5
    assert done.engine.counters["robots_requests"] == 5


def test_a_refused_authority_stays_refused() -> None:
    cache = RobotsCache(100.0)
    cache.ask(A, "a.org")
    assert cache.refusal(A, 0.0) == ""
    cache.refuse(A, "robots_deferred", 1.0)
    assert cache.refusal(A, 1e9) == "robots_deferred"
    assert cache.asker_of(A) is None
    assert cache.refusal(B, 1.0) == ""
    assert cache.refused_for("robots_deferred") == [A]
    assert cache.refused_for("robots_elsewhere") == []


def test_or_for_a_time_and_as_long_as_it_asks_for() -> None:
    cache = RobotsCache(100.0, leave_alone_s=30.0)
    cache.refuse(A, "robots_deferred", 1.0, pause_s=10.0)
    cache.refuse(B, "robots_deferred", 1.0, pause_s=60.0)
    assert cache.refusal(A, 30.9) == cache.refusal(B, 60.9) == "robots_deferred"
    assert cache.refusal(A, 31.0) == cache.refusal(B, 61.0) == ""
    assert cache.refused_for("robots_deferred") == []


def authority(number: int) -> str:
    return f"http://h{number}.org"


@pytest.mark.parametrize("expire_s", [MAX_AGE_S, 10 * MAX_AGE_S])
def test_no_rules_are_believed_for_more_than_a_day(expire_s: float) -> None:
    cache = RobotsCache(expire_s)
    cache.learn(A, RULES, 0.0)
    assert cache.rules_of(A, MAX_AGE_S - 1) is RULES
    assert cache.rules_of(A, MAX_AGE_S) is None


def test_rules_that_nobody_has_used_grow_old_too() -> None:
    cache = RobotsCache(100.0)
    cache.learn(A, RULES, 0.0)
    assert cache.rules_of(A, 30 * MAX_AGE_S) is None


def test_rules_outlive_the_pause_that_their_own_host_asks_for() -> None:
    cache = RobotsCache(100.0)
    cache.learn(A, RULES, 0.0, host_ready_at=2 * MAX_AGE_S)
    assert cache.rules_of(A, 2 * MAX_AGE_S) is RULES
    assert cache.rules_of(A, 2 * MAX_AGE_S) is None


def test_rules_for_want_of_better_ones_are_believed_for_less_long() -> None:
    cache = RobotsCache(10_000.0, failure_expire_s=300.0)
    for name, basis in ((A, Basis.SERVER_ERROR), (B, Basis.ABSENT)):
        cache.learn(name, allow_all(basis), 0.0)
        assert cache.rules_of(name, 299.0) is not None
    assert cache.rules_of(A, 300.0) is None
    assert cache.rules_of(B, 300.0) is not None


def test_those_that_were_not_used_for_longest_are_forgotten_first() -> None:
    cache = RobotsCache(100.0, max_authorities=8)
    for number in range(8):
        cache.learn(authority(number), RobotRules(Basis.FILE, crawl_delay_s=1.0), 0.0)
    assert cache.rules_of(authority(0), 1.0) is not None
    cache.learn(authority(8), RULES, 1.0)
    known = [number for number in range(9) if cache.rules_of(authority(number), 1.0)]
    assert known == [0, 3, 4, 5, 6, 7, 8]
    assert sorted(cache.delays) == [authority(number) for number in (0, 3, 4, 5, 6, 7)]


def test_large_rules_are_bounded_by_their_size() -> None:
    cache = RobotsCache(100.0, max_bytes=1000)
    for number in range(50):
        cache.learn(authority(number), RobotRules(Basis.FILE, "Disallow: /" + "x" * 189), 0.0)
    assert 3 <= len(cache) <= 5


def test_expired_ones_go_before_any_that_hold() -> None:
    cache = RobotsCache(100.0, failure_expire_s=10.0, max_authorities=4)
    for number in range(3):
        cache.learn(authority(number), RULES, 0.0)
    cache.learn(A, allow_all(Basis.SERVER_ERROR), 0.0)
    assert cache.rules_of(A, 5.0) is not None
    cache.learn(authority(3), RULES, 50.0)
    assert [number for number in range(4) if cache.rules_of(authority(number), 50.0)] == [
        0,
        1,
        2,
        3,
    ]


def test_who_is_being_asked_or_whose_pages_wait_is_never_forgotten() -> None:
    waiting = {authority(number) for number in range(0, 20, 2)}
    cache = RobotsCache(100.0, max_authorities=4, waiting_authorities=lambda: waiting)
    cache.learn(authority(1), RobotRules(Basis.FILE, crawl_delay_s=7.0), 0.0)
    assert cache.rules_of(authority(1), 0.0) is not None
    assert cache.rules_of(authority(1), 100.0) is None
    cache.ask(authority(1), "h1.org")
    for number in (0, *range(2, 200)):
        cache.learn(authority(number), RULES, 100.0)
    assert all(cache.rules_of(each, 100.0) for each in waiting)
    assert cache.delays == {authority(1): 7.0}, "the pause holds until the rules are there"
    assert len(cache) < 30


def test_refusals_with_an_end_do_not_pile_up() -> None:
    cache = RobotsCache(100.0, leave_alone_s=300.0, max_authorities=8)
    for number in range(1000):
        cache.refuse(authority(number), "robots_deferred", float(number))
    assert len(cache.refused_for("robots_deferred")) <= 9
    assert cache.refusal(authority(999), 1000.0) == "robots_deferred"
    endless = RobotsCache(100.0, max_authorities=8)
    for number in range(50):
        endless.refuse(authority(number), "robots_elsewhere", float(number))
    assert len(endless.refused_for("robots_elsewhere")) == 50


@given(
    st.lists(
        st.tuples(st.sampled_from(["learn", "use", "ask", "refuse", "wait"]), st.integers(0, 30)),
        max_size=300,
    )
)
def test_it_stays_within_its_bounds_whatever_is_done(steps: list[tuple[str, int]]) -> None:
    waiting: set[str] = set()
    cache = RobotsCache(50.0, 5.0, max_authorities=8, waiting_authorities=lambda: waiting)
    for now, (step, number) in enumerate(steps):
        name = authority(number)
        match step:
            case "learn":
                cache.learn(name, RobotRules(Basis.FILE, crawl_delay_s=float(number)), now)
            case "use":
                cache.rules_of(name, now)
            case "ask":
                cache.ask(name, name)
            case "refuse":
                cache.refuse(name, "robots_deferred", now)
            case "wait":
                waiting = {name, authority(number + 1)}
        asked = sum(cache.asker_of(authority(each)) is not None for each in range(31))
        assert len(cache) <= 8 + 1 + len(waiting) + asked
        assert len(cache.delays) <= len(cache)
        assert len(cache.refused_for("robots_deferred")) <= 9


def test_an_engine_that_lives_for_months_asks_each_day_and_keeps_few() -> None:
    """In virtual time: new hosts every hour, and one that is asked for every hour."""
    web = SmallWeb({}, latency=lambda url: 0.1)
    hours = 24 * 60
    urls: list[str] = []
    for hour in range(hours):
        urls += [f"http://new{hour}.org/", f"http://daily.org/{hour}"]
    sizes: list[int] = []

    def watch(engine: FetchEngine) -> None:
        cache = engine._robots._cache
        learn = cache.learn

        def counted(*args: object, **kwargs: object) -> None:
            learn(*args, **kwargs)  # type: ignore[arg-type]
            sizes.append(len(cache))

        cache.learn = counted  # type: ignore[method-assign]

    done = fetch(web, urls, threads=1, depth=1, delay_s=3600.0, robots_cache_size=16, prepare=watch)
    assert len(done.records) == len(urls)
    assert max(sizes) <= 17
    asked = web.asked["http://daily.org/robots.txt"]
    days = done.run.seconds / MAX_AGE_S
    assert days - 1 <= asked <= days + 1
    assert done.engine.counters["robots_requests"] == hours + asked
