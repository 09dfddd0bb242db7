"""Rules before pages: whatever URLs look like, wherever the rules are, however they are sent."""

from __future__ import annotations

import pytest

from crawl.interfaces.protocol import Failure, FailureKind
from crawl.model.status import Status
from crawl.robots.rules import RobotRules
from tests.fetcher.engine_web import gaps, host, urls_of
from tests.fetcher.small_web import REFUSED, Answered, Page, SmallWeb, fetch


@pytest.mark.parametrize("url", ["HTTP://a.org/p", "http://A.org/p", "hTTps://a.org/p"])
def test_no_spelling_passes_by_a_robots_txt(url: str) -> None:
    origin = "https://a.org" if url.lower().startswith("https") else "http://a.org"
    web = SmallWeb({url: "page", f"{origin}/robots.txt": "User-agent: *\nDisallow: /\n"})
    done = fetch(web, [url])
    assert done.statuses[url] is Status.FETCH_GONE
    assert web.asked == {f"{origin}/robots.txt": 1}


def test_a_scheme_without_robots_txt_has_no_rules() -> None:
    done = fetch(SmallWeb({"ftp://a.org/p": "page"}), ["ftp://a.org/p"])
    assert done.statuses["ftp://a.org/p"] is Status.FETCH_SUCCESS
    assert "robots_requests" not in done.engine.counters


def test_crawl_delay_is_kept_and_one_that_is_too_long_defers() -> None:
    pages = host("slow.org", 3, "User-agent: *\nCrawl-delay: 9\n")
    pages |= host("never.org", 3, "User-agent: nutria\nCrawl-delay: 999\n")
    done = fetch(SmallWeb(pages), urls_of(pages), delay_s=1.0)
    slow = [each for each in done.run.sent if each.host == "slow.org"]
    assert gaps(slow) == pytest.approx([9.0] * 3)
    assert done.engine.counters["handed_back.crawl_delay_too_long"] == 3
    assert not any("never" in url for url in done.statuses)


def test_robots_that_fails_is_asked_again_later_and_then_given_up() -> None:
    def fails_twice(times: int) -> Answered:
        return (503, {}) if times < 3 else "User-agent: *\nAllow: /\n"

    pages = host("flaky.org", 2, fails_twice)
    pages |= host("dead.org", 2, (500, {})) | host("deaf.org", 2, REFUSED)
    done = fetch(SmallWeb(pages), urls_of(pages), robots_defer_s=100.0, robots_defer_retries=3)
    assert set(done.statuses) == {"http://flaky.org/p0", "http://flaky.org/p1"}
    assert done.begun("http://flaky.org/robots.txt") == pytest.approx([0.0, 100.1, 200.2])
    assert len(done.begun("http://dead.org/robots.txt")) == 4
    assert done.engine.counters["handed_back.robots_deferred"] == 4


def test_a_robots_redirect_goes_through_the_targets_queue() -> None:
    pages = host("a.org", 1, (301, {"Location": "http://b.org/robots.txt"}))
    pages |= host("b.org", 3, "User-agent: *\nDisallow: /p0\n")
    done = fetch(SmallWeb(pages), urls_of(pages))
    assert min(gaps(done.run.sent)) >= 5.0 - 1e-9
    assert done.statuses["http://a.org/p0"] is Status.FETCH_GONE
    assert done.statuses["http://b.org/p1"] is Status.FETCH_SUCCESS


def test_a_robots_redirect_to_nowhere_is_not_followed() -> None:
    pages = host("a.org", 1, (302, {})) | host("b.org", 1, (301, {"Location": " "}))
    done = fetch(SmallWeb(pages), urls_of(pages))
    for name in ("a.org", "b.org"):
        assert len(done.begun(f"http://{name}/robots.txt")) == 1
        assert done.statuses[f"http://{name}/p0"] is Status.FETCH_SUCCESS


def test_pages_of_a_host_that_is_nowhere_share_its_fate_without_more_requests() -> None:
    nowhere = Failure("", FailureKind.UNKNOWN_HOST)
    forbidden = Failure("", FailureKind.ADDRESS_REFUSED)
    pages = host("lost.org", 3, nowhere) | host("inside.org", 3, forbidden) | host("a.org", 1)
    done = fetch(SmallWeb(pages), urls_of(pages))
    assert done.statuses["http://lost.org/p2"] is Status.FETCH_RETRY
    assert done.statuses["http://inside.org/p0"] is Status.FETCH_GONE
    assert len(done.records) == 7
    assert done.engine.counters["robots_requests"] == 3
    assert done.engine.counters["requests"] == 4


def test_hosts_on_the_allowlist_are_not_asked_for_their_rules() -> None:
    pages = host("www.own.org", 2, "User-agent: *\nDisallow: /\n") | host("a.org", 1)
    done = fetch(SmallWeb(pages), urls_of(pages), robots_exempt=frozenset({"own.org"}))
    assert done.statuses["http://www.own.org/p1"] is Status.FETCH_SUCCESS
    assert done.begun("http://www.own.org/robots.txt") == []
    assert min(gaps(done.run.sent)) >= 5.0 - 1e-9


def test_a_robots_redirect_to_a_server_of_another_part_is_not_followed() -> None:
    pages = host("a.org", 2, (301, {"Location": "http://www.a.org/robots.txt"}))
    pages |= {"http://www.a.org/robots.txt": "User-agent: *\nDisallow: /"}
    pages |= host("b.org", 1)
    other_part = {"is_other_parts_server": lambda key: key == "www.a.org"}
    done = fetch(SmallWeb(pages), [*urls_of(pages)], hooks=other_part)
    assert "http://www.a.org/robots.txt" not in {each.url for each in done.run.sent}
    assert done.statuses == {"http://b.org/p0": Status.FETCH_SUCCESS}
    assert done.engine.counters["handed_back.robots_elsewhere"] == 2
    assert done.engine.counters["robots_elsewhere"] == 1
    assert list(done.engine.cross_part_authorities) == ["http://a.org"]


def test_the_crawl_delay_of_another_host_reached_by_a_redirect_is_kept() -> None:
    slow = "User-agent: *\nCrawl-delay: 9\n"
    pages: dict[str, Page] = {"http://slow.org/robots.txt": slow}
    for name in ("a.org", "b.org"):
        pages |= host(name, 1, (301, {"Location": "http://slow.org/robots.txt"}))
    listed = [url for url in urls_of(pages) if "slow" not in url]
    done = fetch(SmallWeb(pages), listed, delay_s=1.0)
    asked = [each for each in done.run.sent if each.host == "slow.org"]
    assert gaps(asked) == pytest.approx([9.0])
    assert len(done.records) == 2


def test_answers_to_robots_requests_are_archived_where_wanted() -> None:
    pages = host("a.org", 1, (302, {"Location": "/rules.txt", "X": "1"}))
    pages["http://a.org/rules.txt"] = "User-agent: *\nDisallow: /x"
    pages["http://b.org/robots.txt"] = REFUSED
    done = fetch(
        SmallWeb(pages),
        ["http://a.org/p0", "http://b.org/"],
        store_robots=True,
        robots_defer_retries=0,
    )
    assert [(each.url, each.code, each.status) for each in done.output.archived] == [
        ("http://a.org/robots.txt", 302, 0),
        ("http://a.org/rules.txt", 200, 0),
    ]
    assert done.output.archived[1].body == b"User-agent: *\nDisallow: /x"
    assert done.engine.counters["records"] == len(done.records) == 1


def test_a_caller_may_leave_a_page_out_when_its_rules_are_known() -> None:
    """Also where they forbid it: the caller may want to know them, and no page."""
    pages = host("a.org", 3, "User-agent: *\nDisallow: /p0\nSitemap: http://a.org/s.xml\n")
    known: list[tuple[str, tuple[str, ...]]] = []

    def why_left_out(url: str, rules: RobotRules) -> str:
        known.append((url, rules.sitemaps))
        return "" if url.endswith("p2") else "for_a_reason"

    web = SmallWeb(pages)
    done = fetch(
        web, [f"http://a.org/p{n}" for n in range(3)], hooks={"why_left_out": why_left_out}
    )
    assert known == [(f"http://a.org/p{n}", ("http://a.org/s.xml",)) for n in range(3)]
    assert done.engine.counters["handed_back.for_a_reason"] == 2
    assert web.asked == {"http://a.org/robots.txt": 1, "http://a.org/p2": 1}
