from __future__ import annotations

from crawl.buckets.robots_verdict import RobotsVerdict, ask_verdict, last_verdict
from crawl.buckets.segment_lookup import SegmentEntry
from crawl.storage.segments import FETCH, GENERATE
from tests.fetcher.drivers.test_single import Visitor
from tests.fetcher.small_web import REFUSED
from tests.phases.made import datum


def _fetched(segment: str, status: str) -> SegmentEntry:
    return SegmentEntry(segment, FETCH, (datum(metadata={"_pst_": status}),))


def test_what_segments_remember() -> None:
    assert last_verdict([]).allowed is None
    assert last_verdict([SegmentEntry("1", GENERATE, (datum(),))]).allowed is None
    allowed, denied = _fetched("1", "success(http_200)"), _fetched("2", "robots_denied()")
    assert last_verdict([allowed]) == RobotsVerdict(True, "allowed when segment 1 was fetched")
    assert last_verdict([allowed, denied]) == RobotsVerdict(
        False, "not allowed when segment 2 was fetched"
    )
    assert last_verdict([denied, _fetched("3", "exception(unknown_host)")]).allowed is False


def test_what_the_host_says_now() -> None:
    visitor = Visitor({"http://a.org/robots.txt": "User-agent: *\nDisallow: /x\nCrawl-delay: 3"})
    verdict = ask_verdict("http://a.org/x", visitor.config(), visitor.environment())
    assert verdict == RobotsVerdict(False, "not allowed (robots_file)", 3.0)
    assert ask_verdict("http://a.org/y", visitor.config(), visitor.environment()).allowed is True
    broken = Visitor({"http://a.org/robots.txt": REFUSED})
    verdict = ask_verdict("http://a.org/x", broken.config(), broken.environment())
    assert verdict.allowed is False
    assert verdict.detail == "cannot be had for now: robots_unreachable (connect_refused)"
