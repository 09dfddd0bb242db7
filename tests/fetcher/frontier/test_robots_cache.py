from __future__ import annotations

from crawl.fetcher.frontier.robots_cache import RobotsCache
from crawl.robots.rules import Basis, RobotRules, allow_all
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
