from __future__ import annotations

from crawl.buckets.mentions import Mention
from crawl.buckets.robots_word import RobotsWord, asked_now, remembered
from crawl.storage.segments import FETCH, GENERATE
from tests.fetcher.drivers.test_single import Curious
from tests.fetcher.small_web import REFUSED
from tests.phases.made import datum


def _fetched(segment: str, status: str) -> Mention:
    return Mention(segment, FETCH, (datum(metadata={"_pst_": status}),))


def test_what_segments_remember() -> None:
    assert remembered([]).allowed is None
    assert remembered([Mention("1", GENERATE, (datum(),))]).allowed is None
    allowed, denied = _fetched("1", "success(http_200)"), _fetched("2", "robots_denied()")
    assert remembered([allowed]) == RobotsWord(True, "allowed when segment 1 was fetched")
    assert remembered([allowed, denied]) == RobotsWord(
        False, "not allowed when segment 2 was fetched"
    )
    assert remembered([denied, _fetched("3", "exception(unknown_host)")]).allowed is False


def test_what_the_host_says_now() -> None:
    who = Curious({"http://a.org/robots.txt": "User-agent: *\nDisallow: /x\nCrawl-delay: 3"})
    word = asked_now("http://a.org/x", who.config(), who.environment())
    assert word == RobotsWord(False, "not allowed (robots_file)", 3.0)
    assert asked_now("http://a.org/y", who.config(), who.environment()).allowed is True
    broken = Curious({"http://a.org/robots.txt": REFUSED})
    word = asked_now("http://a.org/x", broken.config(), broken.environment())
    assert word.allowed is False
    assert word.told == "cannot be had for now: robots_unreachable (connect_refused)"
