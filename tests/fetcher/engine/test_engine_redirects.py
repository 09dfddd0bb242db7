"""Where redirects lead to: later, into the target's own queue, or nowhere."""

from __future__ import annotations

import itertools

from crawl.fetcher.values.item import FollowedUrl
from crawl.fetcher.values.output_port import MemoryOutput
from crawl.fetcher.values.record import FetchRecord
from crawl.model.status import Status
from crawl.rules.redirect import RedirectRules
from tests.fetcher.engine_web import gaps, host
from tests.fetcher.small_web import DUE, Page, SmallWeb, fetch


def test_redirects_are_left_for_a_later_round() -> None:
    pages: dict[str, Page] = {
        "http://a.org/old": (301, {"Location": "/new"}),
        "http://a.org/": (302, {"Location": "https://b.org/x"}),
        "http://a.org/odd": (302, {"Location": "http://["}),
        "http://a.org/self": (301, {"Location": "/self"}),
    }
    done = fetch(SmallWeb(pages), list(pages))
    statuses = [(record.url, record.datum.status.label) for record in done.records]
    assert ("http://a.org/old", "fetch_redir_perm") in statuses
    assert ("http://a.org/new", "linked") in statuses
    assert ("https://b.org/x", "linked") in statuses
    assert done.engine.counters["redirects_dropped.no_target"] == 1
    assert done.engine.counters["redirects_dropped.loop"] == 1
    assert done.engine.counters["redirects_left_for_later"] == 2
    assert "https://b.org/robots.txt" not in {each.url for each in done.run.sent}


def test_a_location_of_odd_bytes_leads_where_a_browser_goes() -> None:
    pages: dict[str, Page] = {
        "http://a.org/utf8": (301, {"Location": "/caf\u00c3\u00a9"}),  # a character for a byte
        "http://a.org/latin1": (301, {"Location": "/caf\u00e9"}),
    }
    done = fetch(SmallWeb(pages), list(pages))
    found = {record.url for record in done.records if record.datum.status is Status.LINKED}
    assert found == {"http://a.org/caf%C3%A9", "http://a.org/caf%E9"}


def test_redirects_followed_at_once_wait_in_the_targets_queue_under_its_rules() -> None:
    pages: dict[str, Page] = {
        **{f"http://a.org/r{n}": (301, {"Location": f"http://b.org/p{n}"}) for n in range(4)},
        **host("b.org", 4, "User-agent: *\nDisallow: /p2\n"),
    }
    listed = [url for url in pages if "/r" in url and "robots" not in url]
    done = fetch(SmallWeb(pages), listed, redirect_max=3)
    assert min(gaps(done.run.sent)) >= 5.0 - 1e-9
    assert done.begun("http://b.org/p2") == []
    assert done.statuses["http://b.org/p2"] is Status.FETCH_GONE
    assert done.statuses["http://b.org/p3"] is Status.FETCH_SUCCESS


def test_redirect_loops_and_chains_end() -> None:
    pages: dict[str, Page] = {
        "http://a.org/1": (302, {"Location": "/2"}),
        "http://a.org/2": (302, {"Location": "/1"}),
        **{f"http://c.org/{n}": (302, {"Location": f"/{n + 1}"}) for n in range(9)},
    }
    done = fetch(SmallWeb(pages), ["http://a.org/1", "http://c.org/0"], redirect_max=3)
    assert done.engine.counters["redirects_dropped.loop"] == 1
    assert done.statuses["http://c.org/4"] is Status.LINKED
    assert "http://c.org/4" not in {each.url for each in done.run.sent}


def test_a_redirect_to_a_server_of_another_part_is_left_for_later() -> None:
    pages: dict[str, Page] = {
        "http://a.org/1": (302, {"Location": "http://mine.org/x"}),
        "http://a.org/2": (302, {"Location": "http://theirs.org/x"}),
    }
    mine = {"a.org", "mine.org"}
    done = fetch(
        SmallWeb(pages), list(pages), redirect_max=5, hooks={"owns_server": lambda key: key in mine}
    )
    assert done.begun("http://mine.org/x") != []
    assert done.statuses["http://theirs.org/x"] is Status.LINKED
    assert not any(each.host == "theirs.org" for each in done.run.sent)


def test_a_redirect_that_leads_where_links_are_ignored_is_dropped() -> None:
    pages: dict[str, Page] = {
        "http://a.org/1": (302, {"Location": "http://b.org/1"}),
        "http://a.org/2": (302, {"Location": "/3"}),
    }
    rules = RedirectRules(ignore_external=True)
    done = fetch(SmallWeb(pages), list(pages), hooks={"why_redirect_dropped": rules.why_dropped})
    assert done.engine.counters["redirects_dropped.external"] == 1
    assert done.engine.counters["redirects_left_for_later"] == 1


def test_the_target_of_a_redirect_that_is_not_served_is_left_for_later() -> None:
    pages: dict[str, Page] = {
        "http://a.org/1": (302, {"Location": "http://b.org/x"}),
        "http://b.org/robots.txt": (503, {"Retry-After": "9999"}),
    }
    done = fetch(SmallWeb(pages), ["http://a.org/1"], redirect_max=5, deadline=60.0)
    assert done.statuses["http://b.org/x"] is Status.LINKED
    assert not any("handed_back" in reason for reason in done.engine.counters)


def test_when_memory_is_full_targets_are_left_for_later_instead_of_fetched_twice() -> None:
    pages: dict[str, Page] = {
        "http://a.org/0": (302, {"Location": "http://a.org/there"}),
        "http://a.org/there": "x",
    }
    done = fetch(SmallWeb(pages), ["http://a.org/0"], redirect_max=2)
    assert done.statuses["http://a.org/there"] is Status.FETCH_SUCCESS
    done = fetch(SmallWeb(pages), ["http://a.org/0"], redirect_max=2, max_seen_urls=1)
    assert done.statuses["http://a.org/there"] is Status.LINKED
    assert done.engine.counters["redirects_left_for_later"] == 1


class InOrder(MemoryOutput):
    """Notes in which order records and followed URLs come."""

    def __init__(self) -> None:
        super().__init__()
        self.order: list[str | tuple[str, tuple[str, ...], int]] = []

    def add(self, record: FetchRecord) -> None:
        self.order.append(record.url)

    def add_followed(self, followed: FollowedUrl) -> None:
        self.order.append((followed.url, followed.came_by, followed.depth))

    def commit_point(self, now: float) -> None:
        self.order.append("commit")


def test_a_followed_target_is_brought_out_before_the_next_commit_point() -> None:
    """And a redirect is no link: its target is as deep as its source."""
    output = InOrder()
    web = SmallWeb({"http://a.org/": (302, {"location": "/b"}), "http://a.org/b": "fine"})
    fetched = fetch(
        web,
        [],
        redirect_max=2,
        prepare=lambda engine: engine.follower.follow_links([("http://a.org/", DUE)], 2),
        output=output,
    )
    brought_out = [entry for entry, _ in itertools.groupby(output.order)]
    assert brought_out == [
        "commit",
        "http://a.org/",
        ("http://a.org/b", ("http://a.org/",), 2),
        "commit",
        "http://a.org/b",
        "commit",
    ]
    assert fetched.engine.counters["redirects_followed"] == 1
