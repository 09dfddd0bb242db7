"""An engine that is fed ends when it is told to, and every URL ends in a record or comes back."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawl.fetcher.drivers.virtual import SentRequest, VirtualClock, run_virtual
from crawl.fetcher.engine.engine import CRASHED, FetchEngine, ReadyRequest
from crawl.fetcher.frontier.queue import Idle
from crawl.fetcher.values.hooks import EngineHooks
from crawl.fetcher.values.item import FetchItem
from crawl.fetcher.values.output_port import MemoryOutput
from crawl.fetcher.values.politeness import Politeness, ServerPace
from crawl.fetcher.values.settings import FetchSettings
from crawl.interfaces.protocol import Failure, FailureKind, Response
from crawl.model.datum import CrawlDatum
from crawl.model.status import Status
from tests.examples import scaled
from tests.fetcher.engine_web import gaps
from tests.fetcher.small_web import DUE, Page, SmallWeb

SETTINGS = FetchSettings(threads=8, leave_alone_s=60.0, robots_defer_retries=0, robots_defer_s=5.0)


@dataclass
class Fed:
    """An engine that is fed, and what it brings and gives back."""

    web: SmallWeb = field(default_factory=lambda: SmallWeb({}))
    delay_s: float = 1.0
    at_once: int = 1
    settings: FetchSettings = SETTINGS
    hooks: dict[str, Any] = field(default_factory=dict)
    deadline: float | None = None
    politeness: dict[str, Any] = field(default_factory=dict)
    returned: list[tuple[FetchItem, str]] = field(default_factory=list)
    output: MemoryOutput = field(default_factory=MemoryOutput)
    clock: VirtualClock = field(default_factory=lambda: VirtualClock(1_800_000_000_000))
    urls: Iterable[str] = ()

    def __post_init__(self) -> None:
        self.engine = FetchEngine(
            iter([(url, DUE) for url in self.urls]),
            self.settings,
            Politeness(ServerPace(self.delay_s, self.at_once), **self.politeness),
            EngineHooks(
                lambda host: host,
                self.clock,
                random.Random(1),
                on_returned=lambda item, reason: self.returned.append((item, reason)),
                **self.hooks,
            ),
            self.output,
            deadline=self.deadline,
            is_fed=True,
        )

    def add(self, *urls: str) -> None:
        for url in urls:
            self.engine.add(url, DUE, self.clock.now)

    def step(self) -> ReadyRequest | Idle | None:
        return self.engine.next_request(self.clock.now)

    def request(self) -> ReadyRequest:
        """The next request, however long it has to be waited for."""
        while isinstance(step := self.step(), Idle):
            assert step.until is not None
            self.clock.now = step.until
        assert step is not None
        return step

    def answer(self, work: ReadyRequest, answer: Response | Failure | None = None) -> None:
        given = self.web.answer(work, self.clock.now)[0] if answer is None else answer
        self.engine.handle(work, given, self.clock.now)
        self.engine.commit_point(self.clock.now)

    def all_done(self) -> None:
        """Answers until there is nothing to wait for."""
        while (step := self.step()) != Idle(None):
            if isinstance(step, Idle):
                assert step.until is not None
                self.clock.now = step.until
            else:
                assert step is not None
                self.answer(step)

    @property
    def reasons(self) -> list[tuple[str, str]]:
        return [(item.url, reason) for item, reason in self.returned]

    @property
    def recorded(self) -> list[str]:
        return [each.url for each in self.output.records if each.datum.status is not Status.LINKED]


def test_with_nothing_to_do_it_rests_until_it_is_fed_or_ended() -> None:
    fed = Fed()
    assert fed.step() == Idle(None)
    fed.clock.now = 1e6
    assert fed.step() == Idle(None)
    fed.add("http://a.org/")
    assert fed.request().item.url == "http://a.org/robots.txt"
    fed = Fed()
    fed.add("http://a.org/")
    fed.all_done()
    assert fed.step() == Idle(None)
    fed.engine.end_feed()
    assert fed.step() is None
    assert fed.recorded == ["http://a.org/"]
    assert fed.engine.stopped == ""


def test_it_reads_a_list_first_if_it_has_one() -> None:
    fed = Fed(urls=["http://a.org/1"])
    assert fed.request().item.url == "http://a.org/robots.txt"
    fed.engine.stop("closing")
    assert fed.reasons == [("http://a.org/1", "closing")]


def test_servers_in_trouble_are_waited_for_though_nothing_else_is_left() -> None:
    """A moment without work is no tail of a fetch."""
    tail = replace(SETTINGS, tail_wait_s=2.0, tail_silence_s=0.1)
    fed = Fed(SmallWeb({"http://a.org/1": (503, {"Retry-After": "900"})}), settings=tail)
    fed.add("http://a.org/1", "http://a.org/2")
    while not fed.recorded:
        fed.answer(fed.request())
    step = fed.step()
    assert isinstance(step, Idle) and step.until == pytest.approx(fed.clock.now + 900)
    fed.engine.end_feed()
    assert fed.step() is None
    assert fed.reasons == [("http://a.org/2", "pause_beyond_tail_wait")]


def test_a_deadline_ends_it() -> None:
    fed = Fed(deadline=10.0)
    assert fed.step() == Idle(10.0)
    fed.add("http://a.org/1", "http://a.org/2")
    fed.answer(fed.request())
    fed.clock.now = 10.0
    assert fed.step() is None
    assert fed.reasons == [("http://a.org/1", "time_limit"), ("http://a.org/2", "time_limit")]


def test_pages_that_nothing_would_set_free_come_back_and_may_be_fed_again() -> None:
    fed = Fed()
    fed.add("http://a.org/1")
    fed.answer(fed.request())
    fed.engine.queues.queue("a.org").awaited_rules = 1  # a fault of ours
    fed.clock.now += 2
    assert fed.step() == Idle(None)
    assert fed.reasons == [("http://a.org/1", "stuck")]
    fed.add("http://a.org/1")
    fed.all_done()
    assert fed.recorded == ["http://a.org/1"]


class TestForget:
    def test_a_page_that_is_done_is_fetched_again(self) -> None:
        fed = Fed()
        fed.add("http://a.org/1")
        fed.all_done()
        fed.add("http://a.org/1")
        assert fed.reasons == [("http://a.org/1", "already_fetched_here")]
        assert fed.engine.forget("http://a.org/1")
        fed.add("http://a.org/1")
        fed.all_done()
        assert fed.recorded == ["http://a.org/1"] * 2

    def test_one_that_waits_or_is_under_way_is_not(self) -> None:
        fed = Fed()
        fed.add("http://a.org/1")
        assert not fed.engine.forget("http://a.org/1")
        fed.answer(fed.request())
        work = fed.request()
        assert work.item.url == "http://a.org/1"
        assert not fed.engine.forget("http://a.org/1")
        second = replace(DUE, score=2.0)
        fed.engine.add("http://a.org/1", second, fed.clock.now)
        ((item, reason),) = fed.returned
        assert reason == "already_fetched_here"
        assert item.datum is second, "it is told apart by what it came with"
        assert not fed.engine.forget("http://a.org/1"), "the first is still under way"
        fed.answer(work)
        assert fed.engine.forget("http://a.org/1")

    def test_a_url_that_a_redirect_leads_to_may_be_fed_while_its_link_is_recorded(self) -> None:
        moved = (302, {"Location": "http://b.org/"})
        fed = Fed(SmallWeb({"http://a.org/": moved}))
        fed.add("http://b.org/")
        robots = fed.request()
        fed.add("http://a.org/")
        while "http://a.org/" not in fed.recorded:
            fed.answer(fed.request())
        assert fed.output.records[-1].datum.status is Status.LINKED
        assert not fed.engine.forget("http://b.org/"), "it still waits"
        fed.answer(robots)
        fed.all_done()
        assert sorted(fed.recorded) == ["http://a.org/", "http://b.org/"]


def test_redirects_are_not_followed_and_their_record_says_where_they_lead() -> None:
    fed = Fed(SmallWeb({"http://a.org/": (301, {"Location": "/there?x=1"})}))
    assert fed.settings.redirect_max == 0
    fed.add("http://a.org/")
    fed.all_done()
    assert [each.url for each in fed.output.records] == ["http://a.org/", "http://a.org/there?x=1"]
    record, link = fed.output.records
    assert (record.location, record.sent) == ("/there?x=1", 1)
    assert link.datum.status is Status.LINKED and link.sent == 0
    assert fed.engine.queues.waiting == 0
    fed.add("http://a.org/there?x=1")
    fed.all_done()
    assert fed.recorded == ["http://a.org/", "http://a.org/there?x=1"]


class TestReturned:
    def test_what_is_not_taken_in(self) -> None:
        def accept(url: str) -> tuple[str | None, str]:
            return (None, "filtered.suffix") if url.endswith(".zip") else (url, "")

        fed = Fed(hooks={"accept_listed": accept})
        fed.add("http://a.org/x.zip", "nonsense", "nonsense")
        assert fed.reasons == [
            ("http://a.org/x.zip", "filtered.suffix"),
            ("nonsense", "no_host"),
            ("nonsense", "no_host"),
        ]
        assert all(item.datum is DUE for item, _ in fed.returned)

    def test_a_server_that_is_given_up_and_what_comes_for_it_then(self) -> None:
        fed = Fed(SmallWeb({"http://a.org/1": (500, {})}), politeness={"max_exceptions": 1})
        fed.add("http://a.org/1", "http://a.org/2")
        while not fed.recorded:
            fed.answer(fed.request())
        fed.add("http://a.org/3")
        assert fed.reasons == [
            ("http://a.org/2", "too_many_failures"),
            ("http://a.org/3", "too_many_failures"),
        ]
        fed.clock.now += 61
        fed.add("http://a.org/3")
        fed.all_done()
        assert fed.recorded == ["http://a.org/1", "http://a.org/3"]

    def test_robots_that_cannot_be_had(self) -> None:
        fed = Fed(SmallWeb({"http://a.org/robots.txt": (503, {})}))
        fed.add("http://a.org/1")
        fed.answer(fed.request())
        fed.add("http://a.org/2")
        assert {reason for _, reason in fed.reasons} == {"robots_deferred"}
        assert len(fed.returned) == 2

    def test_a_crawl_delay_that_is_too_long(self) -> None:
        slow = "User-agent: *\nCrawl-delay: 3600"
        fed = Fed(SmallWeb({"http://a.org/robots.txt": slow}))
        fed.add("http://a.org/1")
        fed.all_done()
        assert fed.reasons == [("http://a.org/1", "crawl_delay_too_long")]

    def test_what_a_hook_leaves_out(self) -> None:
        fed = Fed(hooks={"why_left_out": lambda url, rules: "not_now"})
        fed.add("http://a.org/1")
        fed.answer(fed.request())
        fed.clock.now += 5
        assert fed.step() == Idle(None)
        assert fed.reasons == [("http://a.org/1", "not_now")]

    def test_a_stop_and_what_comes_after_it(self) -> None:
        fed = Fed()
        fed.add("http://a.org/1", "http://a.org/2", "http://b.org/1")
        fed.answer(fed.request())
        fed.engine.stop("closing")
        fed.add("http://c.org/")
        assert sorted(fed.reasons) == [
            ("http://a.org/1", "closing"),
            ("http://a.org/2", "closing"),
            ("http://b.org/1", "closing"),
            ("http://c.org/", "closing"),
        ]
        assert fed.step() is None

    @pytest.mark.parametrize("reason", [CRASHED, "hung"])
    def test_what_was_under_way_when_a_thread_died_or_hung(self, reason: str) -> None:
        fed = Fed()
        fed.add("http://a.org/1")
        fed.answer(fed.request())
        fed.request()
        fed.engine.stop(reason)
        assert fed.reasons == []
        fed.engine.finish()
        assert fed.reasons == [("http://a.org/1", reason)]

    def test_what_is_given_back_may_be_fed_again_as_it_is(self) -> None:
        fed = Fed()
        fed.add("http://a.org/1", "http://b.org/1")
        fed.engine.give_back(lambda key: key == "a.org", "lost")
        assert fed.reasons == [("http://a.org/1", "lost")]
        fed.add("http://a.org/1")
        fed.all_done()
        assert sorted(fed.recorded) == ["http://a.org/1", "http://b.org/1"]

    def test_a_batch_tells_of_its_list_too(self) -> None:
        told: list[str] = []
        engine = FetchEngine(
            iter([("http://a.org/1", DUE), ("http://a.org/1", DUE), ("http://b.org/", DUE)]),
            FetchSettings(threads=1, depth=1),
            Politeness(ServerPace(1.0)),
            EngineHooks(
                lambda host: host,
                VirtualClock(),
                random.Random(1),
                on_returned=lambda item, reason: told.append(f"{item.url} {reason}"),
            ),
            MemoryOutput(),
        )
        assert isinstance(engine.next_request(0.0), ReadyRequest)
        engine.stop("interrupted")
        assert engine.counters["handed_back.interrupted"] == 3
        assert told == [
            "http://a.org/1 interrupted",
            "http://a.org/1 interrupted",
            "http://b.org/ interrupted",
        ]


class TestMaySend:
    def test_a_request_asks_when_it_is_sent_and_not_when_it_is_chosen(self) -> None:
        verdicts: list[bool | str] = []
        asked: list[str] = []

        def may_send(item: FetchItem) -> bool | str:
            asked.append(item.url)
            return verdicts.pop(0)

        fed = Fed(hooks={"may_send": may_send})
        fed.add("http://a.org/1")
        work = fed.request()
        assert asked == [] and work.request.why_withheld is not None
        verdicts += [True, False, "lease ended", ""]
        reasons = [work.request.why_withheld() for _ in range(4)]
        assert reasons == ["", "withheld", "lease ended", "withheld"]
        assert asked == ["http://a.org/robots.txt"] * 4

    def test_a_withheld_page_comes_back_and_its_server_is_owed_nothing(self) -> None:
        fed = Fed(delay_s=100.0)
        fed.add("http://a.org/1", "http://a.org/2")
        fed.answer(fed.request())
        work = fed.request()
        counted = fed.engine.counters["requests"]
        fed.answer(work, Failure(work.request.url, FailureKind.WITHHELD, "lease ended"))
        assert fed.reasons == [("http://a.org/1", "lease ended")]
        assert fed.engine.counters["requests"] == counted
        assert fed.engine.counters["withheld"] == 1
        assert isinstance(fed.step(), ReadyRequest), "no pause, for nobody was asked"
        assert fed.output.records == []

    def test_withheld_rules_send_their_pages_back_and_are_asked_for_anew(self) -> None:
        fed = Fed()
        fed.add("http://a.org/1", "https://a.org/2")
        work = fed.request()
        assert work.item.robots_for == "http://a.org"
        fed.answer(work, Failure(work.request.url, FailureKind.WITHHELD, "lease ended"))
        assert fed.reasons == [("http://a.org/1", "lease ended")]
        assert not fed.engine.troubles, "the host has done nothing"
        fed.add("http://a.org/1")
        fed.all_done()
        assert sorted(fed.recorded) == ["http://a.org/1", "https://a.org/2"]
        assert fed.web.asked["http://a.org/robots.txt"] == 1

    def test_servers_that_were_lost_take_their_rules_with_them(self) -> None:
        fed = Fed()
        fed.add("http://a.org/1", "http://b.org/1")
        first = fed.request()
        fed.engine.give_back(lambda key: True, "lost")
        assert sorted(fed.reasons) == [("http://a.org/1", "lost"), ("http://b.org/1", "lost")]
        fed.answer(first)
        assert fed.step() in (Idle(None), Idle(1.0))
        fed.add("http://a.org/1", "http://b.org/1")
        fed.all_done()
        assert sorted(fed.recorded) == ["http://a.org/1", "http://b.org/1"]


class TestPauses:
    def test_who_takes_over_waits_for_what_the_other_owed(self) -> None:
        robots = "User-agent: *\nCrawl-delay: 20"
        web = SmallWeb(
            {
                "http://busy.org/1": (503, {"Retry-After": "300"}),
                "http://slow.org/robots.txt": robots,
            }
        )
        old = Fed(web, delay_s=2.0)
        old.add("http://busy.org/1", "http://slow.org/1", "http://a.org/1")
        old.all_done()
        states = old.engine.pauses(old.clock.now)
        assert states["busy.org"].exceptions == 1
        assert states["slow.org"].min_delay_s == 20
        new = Fed(web, delay_s=2.0)
        new.clock.now = 5000.0
        new.add("http://a.org/2")  # its queue is there already
        new.engine.keep_pauses(states.values(), new.clock.now)
        new.add("http://busy.org/2", "http://slow.org/2")
        begun: dict[str, float] = {}
        while new.engine.queues.waiting:
            work = new.request()
            begun.setdefault(work.item.key, new.clock.now - 5000.0)
            new.answer(work)
        for key, state in states.items():
            assert begun[key] >= state.pause_s
        assert begun["busy.org"] > 250
        assert new.engine.queues.queue("slow.org").pace.delay_s == 20

    def test_a_server_that_is_given_up_stays_so_for_as_long(self) -> None:
        old = Fed(SmallWeb({"http://a.org/1": (500, {})}), politeness={"max_exceptions": 1})
        old.add("http://a.org/1")
        old.all_done()
        (state,) = old.engine.pauses(old.clock.now).values()
        assert (state.closed_reason, state.pause_s) == ("too_many_failures", 60.0)
        new = Fed()
        new.add("http://a.org/2")
        new.engine.keep_pauses([state], new.clock.now)
        new.add("http://a.org/3")
        assert new.reasons == [
            ("http://a.org/2", "too_many_failures"),
            ("http://a.org/3", "too_many_failures"),
        ]
        new.clock.now += 60.0
        new.add("http://a.org/3")
        new.all_done()
        assert new.recorded == ["http://a.org/3"]

    def test_idle_queues_are_retired_when_they_are_old_enough(self) -> None:
        fed = Fed(SmallWeb({"http://busy.org/1": (503, {"Retry-After": "300"})}))
        fed.add("http://busy.org/1", "http://a.org/1")
        fed.all_done()
        end = fed.clock.now
        fed.clock.now += 100.0
        fed.add("http://b.org/1")
        found = fed.engine.idle_queues(fed.clock.now)
        assert (found.idle, found.owed, found.busy, found.retired) == (2, 1, 1, 0)
        assert 90.0 < found.longest_s <= 100.0
        assert fed.engine.retire_idle(fed.clock.now, 99.5).retired == 0
        assert fed.engine.retire_idle(fed.clock.now, 60.0).retired == 1
        assert {queue.key for queue in fed.engine.queues} == {"busy.org", "b.org"}
        fed.add("http://busy.org/2")
        while "http://busy.org/2" not in fed.recorded:
            fed.answer(fed.request())
        assert fed.clock.now >= end + 290, "a pause is kept whatever the reaper does"


class DueOutput(MemoryOutput):
    """Has something to do at a moment."""

    due: float | None = None

    def commit_due(self) -> float | None:
        return self.due


def test_the_output_is_called_when_it_has_something_to_do() -> None:
    output = DueOutput()
    fed = Fed(output=output)
    assert fed.step() == Idle(None)
    output.due = 7.0
    assert fed.step() == Idle(7.0)
    fed.clock.now = 9.0  # it waits for its thread: not every moment is asked
    step = fed.step()
    assert isinstance(step, Idle) and step.until == pytest.approx(9.05)
    output.due = 900.0
    fed.add("http://a.org/1")
    fed.answer(fed.request())
    assert fed.step() == Idle(10.0)


FEEDS = st.lists(
    st.tuples(
        st.floats(0.0, 40.0).map(lambda at: round(at, 1)),
        st.integers(0, 5),
        st.integers(0, 7),
    ),
    max_size=60,
)
PAGES: list[Page] = [
    "text",
    (503, {"Retry-After": "7"}),
    (500, {}),
    (301, {"Location": "http://h1.org/3"}),
    (404, {}),
    Failure("", FailureKind.CONNECT_TIMEOUT),
    Failure("", FailureKind.STALE_CONNECTION),
    Failure("", FailureKind.WITHHELD, "lease"),
]
ROBOTS: list[Page] = [
    (404, {}),
    "User-agent: *\nDisallow: /2",
    "User-agent: *\nCrawl-delay: 4",
    (503, {}),
    (302, {"Location": "http://h0.org/robots.txt"}),
    Failure("", FailureKind.UNKNOWN_HOST),
    Failure("", FailureKind.WITHHELD, "lease"),
]


def most_at_once(sent: list[SentRequest]) -> int:
    """Of requests to one server; a request that ends makes room for one of the same moment."""
    events = sorted(
        (at, change) for each in sent for at, change in ((each.begun, 1), (each.ended, -1))
    )
    level = most = 0
    for _, change in events:
        level += change
        most = max(most, level)
    return most


@settings(max_examples=scaled(300), deadline=None)
@given(
    FEEDS,
    st.lists(st.sampled_from(PAGES), min_size=48, max_size=48),
    st.lists(st.sampled_from(ROBOTS), min_size=6, max_size=6),
    st.integers(1, 3),
    st.sampled_from([0, 2]),
    st.none() | st.floats(5.0, 60.0),
)
def test_whatever_is_fed_ends_once_and_politely(
    feed: list[tuple[float, int, int]],
    pages: list[Page],
    robots: list[Page],
    at_once: int,
    redirect_max: int,
    deadline: float | None,
) -> None:
    web = {f"http://h{host}.org/{n}": pages[8 * host + n] for host in range(6) for n in range(8)}
    web |= {f"http://h{host}.org/robots.txt": robots[host] for host in range(6)}
    taken_back = {url for url, page in web.items() if isinstance(page, Failure) and page.message}

    def answer(work: ReadyRequest, now: float) -> tuple[Response | Failure, float]:
        given, seconds = small.answer(work, now)
        if work.request.url in taken_back:
            return Failure(work.request.url, FailureKind.WITHHELD, "lease"), 0.0
        return given, seconds

    small = SmallWeb(web, latency=lambda url: 0.3 + crc32(url.encode()) % 7 / 4)
    fed = Fed(
        small,
        delay_s=2.0,
        at_once=at_once,
        settings=replace(SETTINGS, redirect_max=redirect_max),
        deadline=deadline,
        politeness={"max_exceptions": 3, "back_off_s": 1.0},
    )
    entries = [
        (at, f"http://h{host}.org/{n}", replace(DUE, score=float(number)))
        for number, (at, host, n) in enumerate(sorted(feed))
    ]
    run = run_virtual(fed.engine, answer, 8, fed.clock, feed=entries)
    fed.engine.finish()
    ends = Counter(item.datum.score for item, _ in fed.returned if not item.came_by)
    led_to = {item.url for item, _ in fed.returned if item.came_by}
    scores: dict[str, list[float]] = {}
    for record in fed.output.records:
        if record.datum.status is not Status.LINKED:
            scores.setdefault(record.url, []).append(record.datum.score)
    followed = fed.engine.counters["redirects_followed"]
    fetched = Counter(score for each in scores.values() for score in each)
    if not followed:
        ends.update(fetched)
        assert ends == Counter({datum.score: 1 for _, _, datum in entries})
        assert led_to == set()
    else:  # a target has the score of its source
        assert {datum.score for _, _, datum in entries} <= ends.keys() | fetched.keys()
    assert fed.engine.queues.in_progress == fed.engine.queues.waiting == 0
    assert not fed.engine._open
    really = [each for each in run.sent if each.url not in taken_back]
    for key in {each.key for each in really}:
        mine = [each for each in really if each.key == key]
        if at_once == 1:
            assert min(gaps(mine), default=2.0) >= 2.0 - 1e-6
        assert most_at_once(mine) <= at_once


def test_a_feed_in_virtual_time_comes_at_its_moments() -> None:
    fed = Fed()
    entries: list[tuple[float, str, CrawlDatum]] = [
        (3.0, "http://a.org/1", DUE),
        (500.0, "http://b.org/1", DUE),
    ]
    run = run_virtual(fed.engine, fed.web.answer, 2, fed.clock, feed=entries)
    begun = {each.url: each.begun for each in run.sent}
    assert begun["http://a.org/robots.txt"] == 3.0
    assert begun["http://b.org/robots.txt"] == 500.0
    assert sorted(fed.recorded) == ["http://a.org/1", "http://b.org/1"]
