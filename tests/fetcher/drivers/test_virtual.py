from __future__ import annotations

import itertools
import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.clock import SystemClock
from crawl.fetcher.drivers.threaded import ThreadedDriver
from crawl.fetcher.drivers.virtual import VirtualClock, run_virtual
from crawl.fetcher.engine.engine import FetchEngine, ReadyRequest
from crawl.fetcher.values.hooks import EngineHooks
from crawl.fetcher.values.output_port import NullOutput
from crawl.fetcher.values.politeness import Politeness, ServerPace
from crawl.fetcher.values.record import FetchRecord
from crawl.fetcher.values.settings import FetchSettings
from crawl.interfaces.protocol import Failure, Request, Response
from crawl.model.datum import FETCH_DELAY_KEY
from tests.fetcher.small_web import DUE, CallbackOutput, Page, SmallWeb, fetch


def test_the_clock_is_moved_by_the_run_alone() -> None:
    clock = VirtualClock(5000)
    assert (clock.now_ms(), clock.monotonic()) == (5000, 0.0)
    clock.now = 1.5
    assert (clock.now_ms(), clock.monotonic()) == (6500, 1.5)


def test_threads_are_counted_while_they_are_busy() -> None:
    urls = [f"http://h{n}.org/p" for n in range(4)]
    one = fetch(SmallWeb(dict.fromkeys(urls, "x")), urls, threads=1, delay_s=0.0)
    assert one.run.seconds == pytest.approx(0.8)
    assert one.run.busy_s == pytest.approx(0.8)
    four = fetch(SmallWeb(dict.fromkeys(urls, "x")), urls, threads=4, delay_s=0.0)
    assert four.run.seconds == pytest.approx(0.2)
    assert four.run.busy_s == pytest.approx(0.8)


def test_nothing_to_do_takes_no_time() -> None:
    assert fetch(SmallWeb({}), []).run.seconds == 0.0


def test_requests_are_kept_only_if_wanted() -> None:
    clock = VirtualClock()
    engine = FetchEngine(
        iter([("http://a.org/", DUE)]),
        FetchSettings(),
        Politeness(ServerPace(1.0)),
        EngineHooks(lambda host: host, clock, random.Random(1)),
        NullOutput(),
    )
    run = run_virtual(engine, SmallWeb({}).answer, 2, clock, keep=False)
    assert run.sent == []
    assert run.seconds == pytest.approx(1.2)


# the engine's promises that need long runs in virtual time


def test_a_robots_txt_lost_in_a_server_that_is_closed_defers_its_host() -> None:
    """a.org's rules are at bad.org, which is closed for its failures in the meantime."""
    pages: dict[str, Page] = {f"http://bad.org/p{n}": (500, {}) for n in range(9)}
    pages["http://a.org/robots.txt"] = (301, {"Location": "http://bad.org/robots.txt"})
    pages["http://a.org/p"] = "x"
    slow = {"http://a.org/robots.txt": 40.0}
    web = SmallWeb(pages, latency=lambda url: slow.get(url, 0.1))
    listed = [url for url in pages if "robots" not in url]
    done = fetch(web, listed, delay_s=1.0, politeness={"max_exceptions": 3, "back_off_s": 1})
    assert done.engine.counters["handed_back.robots_deferred"] == 1
    assert done.engine.counters["handed_back.too_many_failures"] == 6
    assert done.engine.next_request(1e9) is None
    assert "http://a.org/p" not in done.statuses


def test_a_robots_txt_waiting_at_a_server_that_gets_closed_defers_its_host() -> None:
    pages: dict[str, Page] = {f"http://bad.org/p{n}": (500, {}) for n in range(9)}
    pages["http://a.org/robots.txt"] = (301, {"Location": "http://bad.org/robots.txt"})
    pages["http://a.org/p"] = "x"
    slow = {"http://a.org/robots.txt": 1.5, "http://bad.org/p0": 1.0}
    web = SmallWeb(pages, latency=lambda url: slow.get(url, 0.1))
    listed = [url for url in pages if "robots" not in url]
    done = fetch(web, listed, delay_s=1.0, politeness={"max_exceptions": 1})
    assert done.engine.counters["handed_back.robots_deferred"] == 1
    assert done.engine.next_request(1e9) is None


def test_a_delay_of_the_records_does_not_shorten_the_one_of_robots_txt() -> None:
    own = replace(DUE, metadata={FETCH_DELAY_KEY: "100"})
    pages = {"http://a.org/robots.txt": "User-agent: *\nCrawl-delay: 7\n"}
    pages |= {f"http://a.org/p{n}": "x" for n in range(40)}
    clock = VirtualClock()
    engine = FetchEngine(
        iter([(url, own) for url in pages if "robots" not in url]),
        FetchSettings(threads=1, depth=3),  # most of the list is read after the rules
        Politeness(ServerPace(1.0)),
        EngineHooks(lambda host: host, clock, random.Random(1)),
        NullOutput(),
    )
    run = run_virtual(engine, SmallWeb(pages).answer, 1, clock)
    gaps = [late.begun - early.ended for early, late in itertools.pairwise(run.sent)]
    assert len(gaps) == 40
    assert min(gaps) == pytest.approx(7.0)


class Memory:
    """How much a run ever kept."""

    def __init__(self, hosts: int, urls: int, threads: int, depth: int) -> None:
        self.web = SmallWeb({}, latency=lambda url: 0.2)
        self.records = 0
        self.queues = 0
        self.waiting = 0
        self.clock = VirtualClock()
        self.engine = FetchEngine(
            ((f"http://h{n // 10 % hosts}.org/p{n}", DUE) for n in range(urls)),
            FetchSettings(threads=threads, depth=depth),
            Politeness(ServerPace(1.0)),
            EngineHooks(lambda host: host, self.clock, random.Random(1)),
            CallbackOutput(self._emit),
        )

    def _emit(self, record: object) -> None:
        self.records += 1
        self.queues = max(self.queues, len(self.engine.queues))
        self.waiting = max(self.waiting, self.engine.queues.waiting)

    def answer(self, work: ReadyRequest, now: float) -> tuple[Response | Failure, float]:
        return Response("", 404, sent=1.0), 0.2

    def fetch(self, request: Request) -> Response | Failure:
        return Response("", 404, sent=1.0)


def test_queues_of_hosts_that_are_done_do_not_pile_up() -> None:
    """A list of 6,000 hosts, ten pages each, of which few are under way at a time."""
    memory = Memory(hosts=6_000, urls=60_000, threads=20, depth=10)
    run = run_virtual(memory.engine, memory.answer, 20, memory.clock, keep=False)
    assert memory.records == 60_000
    assert memory.engine.counters["robots_requests"] == 6_000
    room = 20 * 10
    assert memory.waiting <= room + 20
    assert memory.queues <= 2 * room + 1000 + room
    assert run.sent == []


def test_threads_in_real_time_keep_as_little() -> None:
    memory = Memory(hosts=3_000, urls=6_000, threads=50, depth=4)
    engine = FetchEngine(
        ((f"http://h{n}.org/p", DUE) for n in range(6_000)),
        FetchSettings(threads=50, depth=4),
        Politeness(ServerPace(0.0)),
        EngineHooks(lambda host: host, SystemClock(), random.Random(1)),
        CallbackOutput(memory._emit),
    )
    memory.engine = engine
    ThreadedDriver(engine, memory.fetch, 50, SystemClock()).run()
    assert memory.records == 6_000
    assert memory.waiting <= 50 * 4 + 50
    assert memory.queues <= 2 * (50 * 4 + 50) + 1000 + 200


def test_a_pause_that_is_still_kept_outlives_the_forgetting() -> None:
    """Hosts whose pages are far apart in the list: some are forgotten in between, and the
    pauses hold still."""
    urls = [f"http://h{n}.org/{time}" for time in (1, 2) for n in range(5000)]
    web = SmallWeb({}, latency=lambda url: 0.01)
    done = fetch(web, urls, threads=50, delay_s=0.3, depth=2)
    ended: dict[str, float] = {}
    for each in sorted(done.run.sent, key=lambda each: each.begun):
        assert each.begun - ended.get(each.host, -9.0) >= 0.3 - 1e-9
        ended[each.host] = each.ended
    assert len(done.records) == 10_000
    assert len(done.engine.queues) < 5000


def test_a_crawl_delay_is_kept_after_its_queue_was_forgotten() -> None:
    rules = "User-agent: *\nCrawl-delay: 8\n"
    pages: dict[str, Page] = {f"http://h{n}.org/robots.txt": rules for n in range(3000)}
    urls = [f"http://h{n}.org/first" for n in range(3000)]
    urls += [f"http://h{n}.org/{time}" for n in range(3000) for time in ("second", "third")]
    done = fetch(SmallWeb(pages), urls, threads=5, delay_s=1.0, depth=2)
    ended: dict[str, float] = {}
    for each in sorted(done.run.sent, key=lambda each: each.begun):
        assert each.begun - ended.get(each.host, -9.0) >= 8.0 - 1e-9
        ended[each.host] = each.ended
    assert len(done.records) == 9000
    assert done.engine.counters["robots_requests"] == 3000
    assert len(done.engine.queues) < 3000


def test_a_followed_redirect_is_not_asked_for_in_the_version_of_its_source() -> None:
    known = replace(
        DUE, modified_time=5, metadata={"ETag": '"source"', "Last-Modified": "then", "lang": "en"}
    )
    asked: dict[str, Request] = {}

    def answer(work: ReadyRequest, now: float) -> tuple[Response | Failure, float]:
        asked[work.request.url] = work.request
        moved = work.request.url == "http://a.org/old"
        headers = (("Location", "/new"),) if moved else ()
        return Response(work.request.url, 301 if moved else 404, headers, sent=1.0), 0.1

    clock = VirtualClock()
    records: list[FetchRecord] = []
    engine = FetchEngine(
        iter([("http://a.org/old", known)]),
        FetchSettings(redirect_max=3),
        Politeness(ServerPace(1.0)),
        EngineHooks(lambda host: host, clock, random.Random(1)),
        CallbackOutput(records.append),
    )
    run_virtual(engine, answer, 1, clock)
    old, new = asked["http://a.org/old"], asked["http://a.org/new"]
    assert (old.etag, old.last_modified) == ('"source"', "then")
    assert (new.etag, new.last_modified, new.modified_since_ms) == ("", "", 0)
    assert records[-1].url == "http://a.org/new"
    assert records[-1].datum.metadata["lang"] == "en"


@given(st.integers(0, 10_000), st.sampled_from([404, 503, 301]))
def test_hosts_that_change_their_address_meanwhile_are_served_all_the_same(
    seed: int, robots: int
) -> None:
    """By address, a host's queue is not always the same: DNS gives one of several."""
    chance = random.Random(seed)
    pages: dict[str, Page] = {
        f"http://h{n}.org/robots.txt": (robots, {"Location": "http://h0.org/rules"})
        for n in range(3)
    }
    urls = [f"http://h{n % 3}.org/p{n}" for n in range(12)]
    done = fetch(
        SmallWeb(pages),
        urls,
        threads=3,
        depth=1,
        robots_defer_s=10.0,
        robots_defer_retries=1,
        hooks={"key_of": lambda host: f"192.0.2.{chance.randrange(3)}"},
    )
    counters = done.engine.counters
    assert done.engine.stopped == ""
    back = sum(n for name, n in counters.items() if name.startswith("handed_back."))
    assert len(done.records) + back == 12
    assert (back == 0) == (robots != 503)


def test_nothing_is_asked_after_the_end_for_a_robots_txt_that_moved() -> None:
    pages: dict[str, Page] = {
        "http://a.org/robots.txt": (301, {"Location": "http://b.org/robots.txt"})
    }
    web = SmallWeb(pages, latency=lambda url: 5.0)
    done = fetch(web, ["http://a.org/p"], deadline=2.0)
    assert list(web.asked) == ["http://a.org/robots.txt"]
    assert done.engine.counters["handed_back.time_limit"] == 1


def test_pages_that_nothing_will_set_free_are_returned() -> None:
    """Whatever mistake holds them: a fetch must end."""
    clock = VirtualClock()
    engine = FetchEngine(
        iter([("http://a.org/1", DUE), ("http://a.org/2", DUE)]),
        FetchSettings(),
        Politeness(ServerPace(1.0)),
        EngineHooks(lambda host: host, clock, random.Random(1)),
        NullOutput(),
    )
    engine.queues.queue("a.org").awaited_rules = 1
    assert engine.next_request(0.0) is None
    assert engine.counters["handed_back.stuck"] == 2


def test_a_host_without_rules_does_not_take_its_domain_with_it() -> None:
    hosts = [f"h{n}.a.org" for n in range(4)]
    pages: dict[str, Page] = {"http://h1.a.org/robots.txt": (503, {})}
    urls = [f"http://{host}/{n}" for n in range(30) for host in hosts]
    done = fetch(
        SmallWeb(pages),
        urls,
        threads=2,
        depth=4,  # much of the list is read after the rules are given up
        hooks={"key_of": lambda host: "a.org"},
    )
    assert len(done.records) == 90
    assert not any("h1." in record.url for record in done.records)
    assert done.engine.counters["handed_back.robots_deferred"] == 30
    assert len(done.begun("http://h1.a.org/robots.txt")) == 1
    assert done.engine.counters["queues_closed"] == 0
