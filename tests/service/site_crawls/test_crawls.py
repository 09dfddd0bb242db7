from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from crawl.errors import UsageError
from crawl.service.site_crawls.crawl_scope import ScopeWish
from crawl.service.site_crawls.values import CrawlLimits, CrawlState, CrawlWish
from crawl.service.telling import views
from crawl.service.values import JobState
from tests.service.site_crawls.site import HTML, Site, crawled_site, html

pytestmark = pytest.mark.slow(seconds=30)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with crawled_site(tmp_path) as crawled:
        yield crawled


def held_until(may_end: threading.Event) -> Callable[[socket.socket], None]:
    """An answer that does not come before the event, and is none."""

    def answer(connection: socket.socket) -> None:
        may_end.wait(120)

    return answer


def test_every_page_of_the_site_comes_once(site: Site) -> None:
    site.page("/", "/a", "/b", "/a", "/#top")
    site.page("/a", "/b", "/a/deep", "/")
    site.page("/b", "/gone")
    site.page("/a/deep")
    crawl = site.crawl()
    assert crawl.state is CrawlState.FINISHED and crawl.ended_ms >= crawl.started_ms
    assert site.asked() == {"/": 1, "/a": 1, "/b": 1, "/a/deep": 1, "/gone": 1}
    found = site.pages(crawl)
    assert {path for path, each in found.items() if each.page and each.page.is_page} == {
        *("/", "/a", "/b", "/a/deep")
    }
    assert {path: each.wish.depth for path, each in found.items()} == {
        **dict.fromkeys(("/a", "/b"), 1),
        **dict.fromkeys(("/a/deep", "/gone"), 2),
        "/": 0,
    }
    assert (crawl.counts.asked, crawl.counts.pages, crawl.counts.failed) == (5, 4, 1)
    assert crawl.counts.outstanding == 0


def test_links_that_are_not_taken_are_counted_by_reason(site: Site) -> None:
    elsewhere = site.url("/x", "b.test")
    site.page("/", "/a", "/skip/1", "/skip/2", elsewhere, "/picture.png", "/q?x=1")
    site.page("/a", elsewhere, "/skip/1", "/a/deep", "/a/deeper")
    site.page("/a/deep", "/never")
    site.page("/a/deeper", "/never", "/nor")
    limits = CrawlLimits(depth=2)
    crawl = site.crawl(limits=limits, scope=ScopeWish(hosts=("a.test",), exclude=("/skip/",)))
    assert site.asked().keys() == {"/", "/a", "/a/deep", "/a/deeper"}
    assert crawl.counts.left_out == {
        "out_of_scope": 3,  # each once, however many pages link to it
        "depth_limit": 3,
        "parse.filtered": 2,
    }
    view = views.crawl_view(crawl)
    assert view["left_out"] == crawl.counts.left_out and view["state"] == "finished"


def test_page_and_host_limits_hold(site: Site) -> None:
    links = [f"/{number}" for number in range(9)]
    others = [site.url(f"/o{number}", "b.test") for number in range(3)]
    site.page("/", *links, *others)
    for path in (*links, "/o0", "/o1", "/o2"):
        site.page(path)
    scope = ScopeWish(hosts=("a.test", "b.test"))
    crawl = site.crawl(limits=CrawlLimits(pages=6, per_host=4), scope=scope)
    assert crawl.counts.asked == 6 and sum(site.asked().values()) == 6
    assert crawl.counts.left_out == {"host_limit": 6, "page_limit": 1}


def test_what_a_page_asks_of_robots_is_obeyed(site: Site) -> None:
    nofollow = '<meta name="robots" content="nofollow">'
    site.page("/", "/closed", "/said", "/open")
    site.page("/closed", "/hidden/1", "/hidden/2", head=nofollow)
    site.server.page("/said", html("said", "/hidden/3"), HTML, "X-Robots-Tag: nofollow")
    site.page("/open", body='<p><a rel="nofollow" href="/hidden/4">no</a></p>')
    site.server.page("/robots.txt", b"User-agent: *\nDisallow: /private/\n")
    site.page("/open", "/private/1", body='<a rel="nofollow" href="/hidden/4">no</a>')
    crawl = site.crawl()
    assert site.asked().keys() == {"/", "/closed", "/said", "/open"}
    assert crawl.counts.left_out["parse.page_nofollow"] == 3
    assert crawl.counts.left_out["parse.rel_nofollow"] == 1
    denied = site.pages(crawl)["/private/1"]
    assert denied.page is not None and not denied.page.is_page


def test_redirects_lead_within_the_site_and_no_page_is_fetched_twice(site: Site) -> None:
    site.server.page("/old", b"", "Location: /new", code=301)
    site.server.page("/out", b"", f"Location: {site.url('/x', 'b.test')}", code=302)
    site.page("/", "/old", "/new", "/out")
    site.page("/new")
    site.page("/x")
    crawl = site.crawl(scope=ScopeWish(hosts=("a.test",)))
    assert site.asked() == {"/": 1, "/old": 1, "/new": 1, "/out": 1}
    found = site.pages(crawl)
    assert found["/old"].url == site.url("/new") and len(found["/old"].hops) == 1
    assert found["/out"].reason == "redirect.out_of_scope"


def test_the_site_is_where_its_seed_leads(site: Site) -> None:
    site.server.page("/", b"", f"Location: {site.url('/home', 'www.a.test')}", code=301)
    site.page("/home", "/a", site.url("/b", "c.test"))
    site.page("/a")
    crawl = site.crawl()
    assert crawl.further_hosts == ("www.a.test",)
    assert site.asked() == {"/": 1, "/home": 1, "/a": 1}
    assert crawl.counts.left_out == {"out_of_scope": 1}


def test_a_meta_refresh_is_a_redirect(site: Site) -> None:
    site.page("/", "/moved", "/loop", "/stays")
    site.page("/moved", head='<meta http-equiv="refresh" content="0; url=/there">')
    site.page("/there", "/behind")
    site.page("/behind")
    site.page("/loop", head='<meta http-equiv="refresh" content="1; url=/loop2">')
    site.page("/loop2", head='<meta http-equiv="refresh" content="1; url=/loop">')
    site.page("/stays", head='<meta http-equiv="refresh" content="300">')
    crawl = site.crawl()
    found = site.pages(crawl)
    moved = found["/moved"]
    assert moved.url == site.url("/there") and [hop.url for hop in moved.hops] == [
        site.url("/moved")
    ]
    assert moved.page is not None and moved.page.is_page
    assert found["/behind"].page is not None
    assert found["/loop"].reason == "redirect.loop"
    assert found["/stays"].page is not None and found["/stays"].page.is_page
    assert max(site.asked().values()) <= 2  # a loop is found where it closes
    (known,) = site.service.pages.resolve([site.url("/moved")])
    assert known is not None and known.page.url == site.url("/there")


def test_a_cancelled_crawl_asks_no_more(site: Site) -> None:
    site.page("/", *(f"/{number}" for number in range(50)))
    may_end = threading.Event()
    for number in range(50):
        site.server.answers[f"/{number}"] = held_until(may_end)
    crawl = site.service.crawls.start(CrawlWish(seeds=(site.url("/"),)))
    assert site.service.crawls.wait(crawl.id, 0, 120.0)
    assert site.service.crawls.cancel(crawl.id)
    may_end.set()
    ended = site.ended(crawl.id)
    assert ended.state is CrawlState.CANCELLED
    assert site.service.queue.count().unfinished == 0
    assert views.crawl_view(ended)["given_up"] == 50
    assert not site.service.crawls.cancel(crawl.id)


def test_seeds_of_which_none_may_be_asked_are_refused(site: Site) -> None:
    wish = CrawlWish(seeds=("ftp://a.test/", "http://10.0.0.1.not a url/"))
    with pytest.raises(UsageError, match="seeds: none may be asked for: malformed"):
        site.service.crawls.start(wish)


def test_answers_of_others_do_not_count_for_a_crawl(site: Site) -> None:
    site.page("/", "/a")
    site.page("/a", "/b")
    site.page("/b")
    assert site.fetch(site.url("/a")).state is JobState.FINISHED
    site.crawl()
    assert site.asked() == {"/": 1, "/a": 2, "/b": 1}  # it has links, which were not taken


def test_a_site_that_is_larger_than_the_queue_comes_whole(tmp_path: Path) -> None:
    with crawled_site(tmp_path, service__queue__low=4) as site:
        links = [f"/{number}" for number in range(30)]
        site.page("/", *links)
        for link in links:
            site.page(link)
        crawl = site.crawl()
        assert crawl.counts.pages == 31 and not crawl.counts.left_out
        assert site.asked() == dict.fromkeys(("/", *links), 1)


def test_a_crawl_ends_when_its_time_is_up(site: Site) -> None:
    may_end = threading.Event()
    site.page("/", "/a")
    site.server.answers["/a"] = held_until(may_end)
    started = site.service.crawls.start(
        CrawlWish(seeds=(site.url("/"),), limits=CrawlLimits(seconds=0.5))
    )
    assert site.ended(started.id).state is CrawlState.TIME_LIMIT
    may_end.set()
