from __future__ import annotations

from pathlib import Path

import pytest

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.readers.explain.robots_verdict import (
    RobotsVerdict,
    ask_verdict,
    known_verdict,
    last_verdict,
)
from crawl.readers.explain.segment_lookup import SegmentEntry
from crawl.storage.segments import FETCH, GENERATE
from tests.fetcher.drivers.test_single import Visitor
from tests.fetcher.small_web import REFUSED
from tests.phases.fetch.test_hand_over import SOON_MS, hand_over
from tests.phases.made import datum, make_crawldb


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
    assert verdict == RobotsVerdict(False, "not allowed (robots_file)", 3.0, verdict.asked_ms)
    assert verdict.asked_ms is not None
    assert ask_verdict("http://a.org/y", visitor.config(), visitor.environment()).allowed is True
    broken = Visitor({"http://a.org/robots.txt": REFUSED})
    verdict = ask_verdict("http://a.org/x", broken.config(), broken.environment())
    assert verdict.allowed is False
    assert verdict.detail == "cannot be had for now: robots_unreachable (connect_refused)"


@pytest.mark.parametrize(("later_ms", "counts"), [(0, "counts until "), (SOON_MS, "expired")])
def test_what_the_crawl_keeps(tmp_path: Path, later_ms: int, counts: str) -> None:
    directory = make_crawldb(str(tmp_path), {"http://a.org/": datum()})
    hand_over(str(tmp_path), "ab", b"User-agent: mybot\nDisallow: /x\nCrawl-delay: 2\n")
    now_ms = SystemClock().now_ms() + later_ms
    config = Config.of({"http.agent.name": "mybot"})
    denied = _fetched("2", "robots_denied()")
    verdict = known_verdict(directory, "http://a.org/x", config, now_ms, [denied])
    assert (verdict.allowed, verdict.crawl_delay_s) == (False, 2.0)
    assert verdict.asked_ms is not None
    assert 0 <= now_ms - later_ms - verdict.asked_ms < 600_000
    assert verdict.detail.startswith("not allowed (robots_file), asked 20")
    assert counts in verdict.detail
    # the bytes are kept, so that another name reads them anew
    other = Config.of({"http.agent.name": "other"})
    assert known_verdict(directory, "http://b.org/x", other, now_ms, []).allowed is True
    # of a host that nobody asked, segments tell
    assert known_verdict(directory, "http://z.org/x", config, now_ms, [denied]).allowed is False
    assert known_verdict(directory, "http://z.org/x", config, now_ms, []).allowed is None
