from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.fetcher.drivers.virtual import VirtualClock, run_virtual
from crawl.fetcher.engine.engine import FetchEngine, ReadyRequest
from crawl.fetcher.values.hooks import EngineHooks
from crawl.fetcher.values.output_port import MemoryOutput, NullOutput
from crawl.fetcher.values.politeness import Politeness, ServerPace
from crawl.fetcher.values.settings import FetchSettings
from crawl.interfaces.protocol import Failure, FailureKind
from crawl.model.datum import CrawlDatum
from crawl.model.status import Status
from tests.fetcher.engine_web import gaps, host, urls_of
from tests.fetcher.small_web import DUE, STALE, Answered, Page, SmallWeb, fetch


def test_every_page_is_fetched_once_after_its_robots() -> None:
    pages = host("a.org", 5) | host("b.org", 5, "User-agent: *\nDisallow: /p3\n")
    done = fetch(SmallWeb(pages), urls_of(pages))
    assert done.statuses["http://b.org/p3"] is Status.FETCH_GONE
    assert sum(status is Status.FETCH_SUCCESS for status in done.statuses.values()) == 9
    assert len(done.records) == 10
    assert done.begun("http://b.org/p3") == []
    assert done.begun("http://a.org/robots.txt") == [0.0]
    assert done.engine.counters["robots_requests"] == 2
    assert done.engine.counters["robots_denied"] == 1


def test_the_delay_lies_between_the_end_of_one_request_and_the_start_of_the_next() -> None:
    pages = host("a.org", 6)
    done = fetch(SmallWeb(pages, latency=lambda url: 0.7), urls_of(pages), delay_s=2.0)
    assert gaps(done.run.sent) == pytest.approx([2.0] * 6)
    assert done.run.seconds == pytest.approx(7 * 0.7 + 6 * 2.0)


@given(
    sizes=st.lists(st.integers(1, 6), min_size=1, max_size=6),
    threads=st.integers(1, 8),
    at_once=st.integers(1, 3),
    delay=st.sampled_from([0.0, 0.5, 3.0]),
    seed=st.integers(0, 100),
)
def test_no_server_is_ever_asked_too_soon_or_by_too_many(
    sizes: list[int], threads: int, at_once: int, delay: float, seed: int
) -> None:
    pages: dict[str, Page] = {}
    for n, size in enumerate(sizes):
        pages |= host(f"h{n}.org", size)
    web = SmallWeb(pages, latency=lambda url: 0.05 + (hash((url, seed)) % 7) / 10)
    done = fetch(web, urls_of(pages), threads=threads, at_once=at_once, delay_s=delay)
    assert len(done.records) == sum(sizes)
    assert all(count == 1 for count in web.asked.values())
    for name in {each.host for each in done.run.sent}:
        mine = sorted(
            (each for each in done.run.sent if each.host == name), key=lambda each: each.begun
        )
        for place, each in enumerate(mine):
            others = [e for e in mine if e is not each and e.begun <= each.begun < e.ended]
            assert len(others) < at_once
            ended = [e.ended for e in mine[:place] if e.ended <= each.begun]
            if ended:
                assert each.begun - max(ended) >= delay - 1e-9 or others


@pytest.mark.parametrize(
    ("datum", "status"),
    [
        (DUE, Status.FETCH_RETRY),
        (replace(DUE, metadata={"ETag": '"1"'}), Status.FETCH_NOTMODIFIED),
        (replace(DUE, metadata={"Last-Modified": "then"}), Status.FETCH_NOTMODIFIED),
        (replace(DUE, modified_time=1), Status.FETCH_NOTMODIFIED),
    ],
)
def test_what_nobody_has_cannot_be_unchanged(datum: CrawlDatum, status: Status) -> None:
    url = "http://a.org/p"
    web = SmallWeb({url: (304, {"ETag": '"other"'})})
    done = fetch(web, [], prepare=lambda engine: engine.add(url, datum, 0.0))
    assert done.statuses[url] is status


def test_retry_after_holds_for_the_whole_queue() -> None:
    pages = host("busy.org", 3)
    pages["http://busy.org/p0"] = (429, {"Retry-After": "60"})
    done = fetch(SmallWeb(pages), urls_of(pages), delay_s=1.0)
    assert done.statuses["http://busy.org/p0"] is Status.FETCH_RETRY
    first, second = done.begun("http://busy.org/p0")[0], done.begun("http://busy.org/p1")[0]
    assert second - first >= 60
    assert done.begun("http://busy.org/p2")[0] - second == pytest.approx(1.1)


def test_failures_back_off_doubling_and_close_the_queue_at_the_limit() -> None:
    pages: dict[str, Page] = dict.fromkeys([f"http://bad.org/p{n}" for n in range(9)], (500, {}))
    done = fetch(
        SmallWeb(pages), list(pages), delay_s=1.0, politeness={"max_exceptions": 4, "back_off_s": 8}
    )
    assert sum(status is Status.FETCH_RETRY for status in done.statuses.values()) == 4
    assert done.engine.counters["handed_back.too_many_failures"] == 5
    pauses = gaps(done.run.sent)[1:]
    assert [8 <= pauses[0] <= 10, 16 <= pauses[1] <= 20, 32 <= pauses[2] <= 40] == [True] * 3


def test_a_success_forgives_failures() -> None:
    pages: dict[str, Page] = {
        f"http://bad.org/p{n}": (500, {}) if n % 3 else "fine" for n in range(12)
    }
    done = fetch(SmallWeb(pages), list(pages), politeness={"max_exceptions": 3, "back_off_s": 1})
    assert len(done.records) == 12


def stale(until: int) -> Callable[[int], Answered]:
    """A page whose connection is closed the first times."""
    return lambda attempt: STALE if attempt <= until else "fine"


def test_what_a_closed_connection_swallowed_is_asked_for_once_more_after_the_pause() -> None:
    pages = host("a.org", 4)
    pages["http://a.org/p1"] = stale(1)
    pages["http://a.org/p2"] = stale(2)
    done = fetch(SmallWeb(pages), urls_of(pages), delay_s=3.0)
    assert done.statuses["http://a.org/p1"] is Status.FETCH_SUCCESS
    assert done.statuses["http://a.org/p2"] is Status.FETCH_RETRY
    assert len(done.records) == 4
    assert done.engine.counters["asked_again"] == 2
    assert done.engine.counters["answers.stale_connection"] == 1
    assert min(gaps(done.run.sent)) >= 3.0 - 1e-9


def test_a_robots_txt_is_asked_for_once_more_too() -> None:
    pages = host("a.org", 2)
    pages["http://a.org/robots.txt"] = stale(1)
    done = fetch(SmallWeb(pages), urls_of(pages), delay_s=3.0)
    assert len(done.records) == 2 and done.engine.counters["asked_again"] == 1
    first, second, *_ = done.begun("http://a.org/robots.txt")
    assert second - first >= 3.0


def test_a_page_whose_head_is_refused_is_asked_for_once_more_after_the_pause() -> None:
    refused = Failure("", FailureKind.REFUSED_HEAD, "Header without colon")
    pages = host("a.org", 3)
    pages["http://a.org/robots.txt"] = lambda attempt: refused if attempt == 1 else "User-agent: *"
    pages["http://a.org/p1"] = lambda attempt: refused if attempt == 1 else "fine"
    pages["http://a.org/p2"] = refused
    done = fetch(SmallWeb(pages), urls_of(pages), delay_s=3.0)
    assert done.statuses["http://a.org/p1"] is Status.FETCH_SUCCESS
    assert done.statuses["http://a.org/p2"] is Status.FETCH_RETRY
    assert done.engine.counters["asked_again"] == 3
    assert done.engine.counters["answers.refused_head"] == 1
    assert min(gaps(done.run.sent)) >= 3.0 - 1e-9


def test_nothing_is_asked_for_again_after_the_end() -> None:
    pages = host("a.org", 3)
    pages["http://a.org/p0"] = stale(9)
    done = fetch(SmallWeb(pages), urls_of(pages), delay_s=30.0, deadline=31.0)
    assert not done.records
    assert done.engine.counters["asked_again"] == 1
    assert done.engine.counters["handed_back.time_limit"] == 3


def test_hosts_of_one_address_keep_apart() -> None:
    pages: dict[str, Page] = {}
    for n in range(4):
        pages |= host(f"h{n}.org", 3)
    done = fetch(
        SmallWeb(pages),
        urls_of(pages),
        delay_s=3.0,
        politeness={"ip_delay_s": 1.0},
        hooks={"address_of": lambda name: "192.0.2.1" if name < "h2" else "192.0.2.2"},
    )
    assert len(done.records) == 12
    assert min(gaps(done.run.sent)) >= 3.0 - 1e-9
    by_address = [
        replace(each, host="one" if each.host < "h2" else "two") for each in done.run.sent
    ]
    assert min(gaps(by_address)) >= 1.0 - 1e-9


def test_one_queue_for_a_domain() -> None:
    pages = host("www.a.org", 2) | host("img.a.org", 2)
    done = fetch(
        SmallWeb(pages), urls_of(pages), hooks={"key_of": lambda name: name.split(".", 1)[1]}
    )
    assert len(done.records) == 4
    assert min(gaps(done.run.sent, "key")) >= 5.0 - 1e-9


def test_the_time_limit_hands_back_what_is_left() -> None:
    pages = host("a.org", 100) | host("b.org", 3)
    done = fetch(SmallWeb(pages), urls_of(pages), deadline=60.0)
    assert done.run.seconds <= 60.1
    fetched = len(done.records)
    assert done.engine.counters["handed_back.time_limit"] == 103 - fetched
    assert all(each.begun < 60.0 for each in done.run.sent)


def test_a_pause_beyond_the_time_limit_ends_the_queue_at_once() -> None:
    pages = host("busy.org", 3)
    pages["http://busy.org/p0"] = (503, {"Retry-After": "3600"})
    done = fetch(SmallWeb(pages), urls_of(pages), deadline=600.0)
    assert done.run.seconds < 10
    assert done.engine.counters["handed_back.pause_beyond_time_limit"] == 2


def test_the_list_is_read_as_memory_allows() -> None:
    read = 0

    def endless() -> Iterator[tuple[str, CrawlDatum]]:
        nonlocal read
        for n in range(100_000):
            read += 1
            yield f"http://h{n % 3}.org/p{n}", DUE

    engine = FetchEngine(
        endless(),
        FetchSettings(threads=2, depth=10),
        Politeness(ServerPace(1.0)),
        EngineHooks(lambda name: name, VirtualClock(), random.Random(1)),
        NullOutput(),
    )
    assert engine.next_request(0.0) is not None
    assert read <= 2 * 10 + 1


def test_followed_links_wait_in_their_own_queues_under_their_own_rules() -> None:
    pages = host("a.org", 3) | host("b.org", 1, "User-agent: *\nDisallow: /\n")
    link = CrawlDatum(Status.LINKED, 0)

    def follow(engine: FetchEngine) -> None:
        engine.follower.follow_links(
            [("http://a.org/p1", link), ("http://b.org/p0", link)], depth=1
        )
        engine.follower.follow_links(
            [("http://a.org/p1", link), ("http://theirs.org/", link)], depth=2
        )

    owns = {"owns_server": lambda key: key != "theirs.org"}
    done = fetch(SmallWeb(pages), ["http://a.org/p0"], prepare=follow, hooks=owns)
    counters = done.engine.counters
    assert counters["outlinks_followed"] == 2
    assert counters["outlinks_not_followed.already_fetched"] == 1
    assert counters["outlinks_not_followed.server_of_another_part"] == 1
    assert done.statuses == {
        "http://a.org/p0": Status.FETCH_SUCCESS,
        "http://a.org/p1": Status.FETCH_SUCCESS,
        "http://b.org/p0": Status.FETCH_GONE,
    }
    assert {record.url: record.depth for record in done.records}["http://a.org/p1"] == 1
    assert min(gaps(done.run.sent)) >= 5.0 - 1e-9


def test_followed_links_that_are_not_served_are_counted_and_leave_no_record() -> None:
    link = CrawlDatum(Status.LINKED, 0)
    done = fetch(
        SmallWeb(host("a.org", 9)),
        ["http://a.org/p0"],
        prepare=lambda engine: engine.follower.follow_links(
            [(f"http://a.org/p{n}", link) for n in range(1, 9)], depth=1
        ),
        deadline=12.0,
    )
    counters = done.engine.counters
    assert counters["outlinks_not_served.time_limit"] > 0
    served = len(done.records) + counters["handed_back.time_limit"]
    assert served + counters["outlinks_not_served.time_limit"] == 9


def test_the_urls_of_the_list_can_be_looked_at_once_more() -> None:
    pages = host("a.org", 3)

    def accept(url: str) -> tuple[str | None, str]:
        match url[-1]:
            case "x":
                return None, "filtered.regex"
            case "2":
                return "http://a.org/p1", ""
        return url, ""

    urls = [*urls_of(pages), "http://a.org/x"]
    done = fetch(SmallWeb(pages), urls, hooks={"accept_listed": accept})
    assert sorted(done.statuses) == ["http://a.org/p0", "http://a.org/p1"]
    assert done.engine.counters["handed_back.filtered.regex"] == 1
    assert done.engine.counters["already_fetched_here"] == 1


def engine_of_one_list(urls: list[str], redirect_max: int = 0) -> tuple[FetchEngine, MemoryOutput]:
    output = MemoryOutput()
    engine = FetchEngine(
        iter([(url, DUE) for url in urls]),
        FetchSettings(redirect_max=redirect_max),
        Politeness(ServerPace(1.0)),
        EngineHooks(lambda host: host, VirtualClock(), random.Random(1)),
        output,
    )
    return engine, output


def test_what_is_added_later_is_not_fetched_twice() -> None:
    """Neither what waits or was fetched, nor a redirect's target that was met before."""
    pages: dict[str, Page] = {
        "http://a.org/1": "one",
        "http://a.org/2": "two",
        "http://a.org/moved": (301, {"Location": "/1"}),
    }
    engine, output = engine_of_one_list(["http://a.org/1", "http://a.org/2"], redirect_max=3)
    web, clock = SmallWeb(pages), VirtualClock()
    first = engine.next_request(0.0)
    assert isinstance(first, ReadyRequest)
    engine.add("http://a.org/1", DUE, 0.0)  # its robots.txt is under way
    engine.add("http://a.org/3", DUE, 0.0)
    engine.handle(first, web.answer(first, 0.0)[0], 0.1)
    run_virtual(engine, web.answer, 1, clock)
    for url in ("http://a.org/2", "http://a.org/3", "http://a.org/moved"):
        engine.add(url, DUE, clock.now)
    run_virtual(engine, web.answer, 1, clock)
    pages_asked = {url: times for url, times in web.asked.items() if "robots" not in url}
    assert pages_asked == dict.fromkeys([*pages, "http://a.org/3"], 1)
    assert engine.counters["already_fetched_here"] == 3
    assert engine.counters["redirects_dropped.already_fetched"] == 1
    assert len(output.records) == 4


def test_urls_are_only_forgotten_while_nothing_waits() -> None:
    engine, _ = engine_of_one_list(["http://a.org/1"])
    engine.add("http://a.org/2", DUE, 0.0)
    with pytest.raises(RuntimeError, match="must not be forgotten"):
        engine.forget_seen()
    run_virtual(engine, SmallWeb({}).answer, 1, VirtualClock())
    engine.forget_seen()
    engine.add("http://a.org/1", DUE, 10.0)
    assert engine.queues.waiting == 1


def test_hosts_that_failed_are_brought_out_at_the_end() -> None:
    done = fetch(SmallWeb({"http://a.org/": (503, {"Retry-After": "900"})}), ["http://a.org/"])
    assert [(each.host, each.reason) for each in done.output.host_troubles] == [
        ("a.org", "failures")
    ]
