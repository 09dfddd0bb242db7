"""A driver whose engine is fed: from any thread, at once, and until it is ended."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.fetcher.drivers.protocols import Protocols, resolved_protocols
from crawl.fetcher.drivers.threaded import ThreadedDriver
from crawl.fetcher.engine.engine import FetchEngine
from crawl.fetcher.frontier.queue import ServerState
from crawl.fetcher.values.hooks import EngineHooks
from crawl.fetcher.values.item import FetchItem
from crawl.fetcher.values.politeness import Politeness, ServerPace
from crawl.fetcher.values.record import FetchRecord
from crawl.fetcher.values.settings import FetchSettings
from crawl.interfaces.protocol import Failure, Request, Response, Transfers
from tests.fetcher.small_web import DUE, CallbackOutput

CLOCK = SystemClock()
LONG_S = 60.0


class ShiftedClock(SystemClock):
    """The machine's clock, and as much more as the test wants."""

    def __init__(self) -> None:
        self.shift_s = 0.0
        self.monotonic = lambda: CLOCK.monotonic() + self.shift_s


class Ends:
    """What became of URLs, to be waited for."""

    def __init__(self) -> None:
        self.recorded: list[str] = []
        self.returned: list[tuple[str, str]] = []
        self._has_more = threading.Condition()

    def record(self, record: FetchRecord) -> None:
        with self._has_more:
            self.recorded.append(record.url)
            self._has_more.notify_all()

    def give_back(self, item: FetchItem, reason: str) -> None:
        with self._has_more:
            self.returned.append((item.url, reason))
            self._has_more.notify_all()

    def await_count(self, count: int) -> None:
        with self._has_more:
            assert self._has_more.wait_for(
                lambda: len(self.recorded) + len(self.returned) >= count, LONG_S
            ), (len(self.recorded), len(self.returned))


class Server:
    """Answers, and remembers when it was asked; pages of a `held` host wait for the test."""

    def __init__(self) -> None:
        self.asked: dict[str, list[tuple[float, float]]] = {}
        self.lock = threading.Lock()
        self.release = threading.Event()
        self.is_held = threading.Event()

    def fetch(self, request: Request) -> Response | Failure:
        begun = CLOCK.monotonic()
        host = request.url.split("/")[2]
        is_robots = request.url.endswith("/robots.txt")
        if host.startswith("held") and not is_robots:
            self.is_held.set()
            self.release.wait(LONG_S)
        with self.lock:
            self.asked.setdefault(host, []).append((begun, CLOCK.monotonic()))
        return Response(request.url, 404 if is_robots else 200, body=b"x", sent=begun)


class ServerTransfers:
    """Sends in the caller's thread, one round of requests after the other; of one host in two it
    says that it would block."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.begun: list[tuple[object, Request]] = []
        self.woken = threading.Event()
        self.advances = 0
        self.closed = False

    def begin(self, request: Request, ticket: object) -> bool:
        if "odd" in request.url or "held" in request.url:
            return False
        self.begun.append((ticket, request))
        return True

    def advance(self, seconds: float | None) -> list[tuple[object, Response | Failure]]:
        self.advances += 1
        if not self.begun:
            self.woken.wait(seconds)
            self.woken.clear()
        begun, self.begun = self.begun, []
        return [(ticket, self.server.fetch(request)) for ticket, request in begun]

    def wake(self) -> None:
        assert not self.closed
        self.woken.set()

    def close(self) -> None:
        self.closed = True


class Running:
    """A driver at work in a thread of its own."""

    def __init__(
        self,
        *,
        is_driven: bool,
        delay_s: float = 0.0,
        hang_s: float = 1e9,
        threads: int = 4,
        blocking_threads: int | None = None,
        may_send: Callable[[FetchItem], bool | str] | None = None,
    ) -> None:
        self.ends, self.server, self.clock = Ends(), Server(), ShiftedClock()
        self.output = CallbackOutput(self.ends.record)
        self.engine = FetchEngine(
            iter(()),
            FetchSettings(threads=threads, leave_alone_s=60.0),
            Politeness(ServerPace(delay_s)),
            EngineHooks(
                lambda host: host,
                self.clock,
                random.Random(1),
                on_returned=self.ends.give_back,
                may_send=may_send,
            ),
            self.output,
            is_fed=True,
        )
        self.transfers = ServerTransfers(self.server) if is_driven else None
        self.looks = 0
        self.driver = ThreadedDriver(
            self.engine,
            self.server.fetch,
            threads,
            self.clock,
            hang_s=hang_s,
            transfers=self.transfers,
            blocking_threads=blocking_threads,
            monitor=self.look,
        )
        self.fault: BaseException | None = None
        self.thread = threading.Thread(target=self.run, daemon=True)

    def look(self, engine: FetchEngine, busy: int) -> str:
        self.looks += 1
        return ""

    def run(self) -> None:
        try:
            self.driver.run()
        except BaseException as fault:
            self.fault = fault
        self.engine.finish()

    def join(self) -> None:
        self.thread.join(LONG_S)
        assert not self.thread.is_alive()


@contextmanager
def running(**settings: object) -> Iterator[Running]:
    made = Running(**settings)  # type: ignore[arg-type]
    made.thread.start()
    try:
        yield made
    finally:
        made.server.release.set()
        made.driver.stop("closing")
        made.join()


DRIVEN = pytest.mark.parametrize("is_driven", [False, True])


@DRIVEN
def test_what_many_threads_feed_is_fetched_politely_and_each_ends_once(is_driven: bool) -> None:
    hosts = [f"{kind}{n}.org" for kind in ("odd", "even") for n in range(5)]
    with running(is_driven=is_driven, delay_s=0.003) as made:

        def feed(number: int) -> None:
            for page in range(10):
                for host in hosts:
                    made.driver.feed(f"http://{host}/{number}-{page}", DUE)

        feeders = [threading.Thread(target=feed, args=(number,)) for number in range(4)]
        for feeder in feeders:
            feeder.start()
        for feeder in feeders:
            feeder.join(LONG_S)
        made.ends.await_count(400)
        made.driver.end()
        made.join()
        assert made.fault is None
        ends = Counter(made.ends.recorded)
        assert len(ends) == 400 and set(ends.values()) == {1}
        assert made.ends.returned == []
        for times in made.server.asked.values():
            for (_, ended), (begun, _) in zip(sorted(times), sorted(times)[1:], strict=False):
                assert begun - ended >= 0.003


@DRIVEN
def test_no_thread_wakes_up_while_there_is_nothing_to_do(is_driven: bool) -> None:
    with running(is_driven=is_driven) as made:
        made.driver.feed("http://even1.org/", DUE)
        made.ends.await_count(1)
        has_slept = threading.Event()
        looks = advances = -1
        for _ in range(100):  # until it has come to rest
            if looks == made.looks and (not made.transfers or made.transfers.advances == advances):
                break
            looks, advances = made.looks, made.transfers.advances if made.transfers else 0
            has_slept.wait(0.8)
        else:
            pytest.fail("it never rests")
        made.driver.feed("http://even1.org/again", DUE)
        made.ends.await_count(2)


@DRIVEN
def test_a_url_is_fetched_again_when_that_is_asked_for(is_driven: bool) -> None:
    with running(is_driven=is_driven) as made:
        for again in (False, False, True):
            made.driver.feed("http://even1.org/", DUE, again=again)
            made.ends.await_count(len(made.ends.recorded) + len(made.ends.returned) + 1)
        assert made.ends.recorded == ["http://even1.org/"] * 2
        assert made.ends.returned == [("http://even1.org/", "already_fetched_here")]


@DRIVEN
def test_an_end_waits_for_what_was_fed_and_what_comes_later_comes_back(is_driven: bool) -> None:
    with running(is_driven=is_driven) as made:
        for page in range(30):
            made.driver.feed(f"http://even1.org/{page}", DUE)
        made.driver.end()
        made.join()
        assert len(made.ends.recorded) == 30
        assert made.engine.stopped == ""
        made.driver.feed("http://even1.org/late", DUE)
        assert made.ends.returned == [("http://even1.org/late", "ended")]
        if made.transfers is not None:
            assert made.transfers.closed


@DRIVEN
def test_a_stop_gives_back_what_waits(is_driven: bool) -> None:
    with running(is_driven=is_driven, delay_s=1000.0) as made:
        made.driver.feed("http://even1.org/1", DUE)
        made.driver.feed("http://even1.org/2", DUE)
        made.driver.stop("closing")
        made.join()
        made.driver.feed("http://even1.org/3", DUE)
        assert sorted(made.ends.returned) == [
            (f"http://even1.org/{n}", "closing") for n in (1, 2, 3)
        ]


@DRIVEN
def test_a_driver_that_never_ran_gives_back_when_it_is_told_to_stop(is_driven: bool) -> None:
    made = Running(is_driven=is_driven)
    made.driver.feed("http://even1.org/1", DUE)
    made.driver.stop("closing")
    made.driver.run()
    assert made.ends.returned == [("http://even1.org/1", "closing")]


@DRIVEN
def test_a_fault_of_ours_gives_back_all_that_has_no_record(is_driven: bool) -> None:
    made = Running(is_driven=is_driven)

    def fail(record: FetchRecord) -> None:
        raise OSError("disk full")

    made.output._on_record = fail
    for page in range(3):
        made.driver.feed(f"http://even1.org/{page}", DUE)
    made.run()
    assert isinstance(made.fault, OSError)
    assert sorted(url for url, _ in made.ends.returned) == [
        f"http://even1.org/{n}" for n in range(3)
    ]
    assert {reason for _, reason in made.ends.returned} == {"crashed"}


@DRIVEN
def test_requests_that_hang_end_the_driver_and_come_back(is_driven: bool) -> None:
    """Not because it had nothing to do for longer than that before."""
    with running(is_driven=is_driven, hang_s=500.0) as made:
        made.clock.shift_s += 1000
        made.driver.feed("http://even1.org/", DUE)
        made.ends.await_count(1)
        assert made.ends.recorded == ["http://even1.org/"]
        made.clock.shift_s += 1000
        made.driver.feed("http://held.org/1", DUE)
        assert made.server.is_held.wait(LONG_S)
        for _ in range(100):  # the supervisor has yet to see its last answer
            made.clock.shift_s += 1000
            made.thread.join(0.6)
            if not made.thread.is_alive():
                break
        assert made.ends.returned == [("http://held.org/1", "hung")]
        assert made.engine.counters["hung_threads"] == 1


@DRIVEN
def test_a_request_is_withheld_at_the_last_moment(is_driven: bool) -> None:
    """The lease ends between two requests; nobody is asked after that."""
    leased = threading.Event()
    leased.set()

    def may_send(item: FetchItem) -> bool | str:
        return leased.is_set() or "lease ended"

    with running(is_driven=is_driven, may_send=may_send) as made:
        made.driver.feed("http://even1.org/1", DUE)
        made.driver.feed("http://odd1.org/1", DUE)
        made.ends.await_count(2)
        leased.clear()
        asked = {host: len(times) for host, times in made.server.asked.items()}
        for url in ("http://even1.org/2", "http://odd1.org/2", "http://new.org/1"):
            made.driver.feed(url, DUE)
        made.ends.await_count(5)
        assert {reason for _, reason in made.ends.returned} == {"lease ended"}
        assert len(made.ends.returned) == 3
        assert {host: len(times) for host, times in made.server.asked.items()} == asked
        leased.set()
        made.driver.feed("http://new.org/1", DUE)
        made.ends.await_count(6)
        assert "http://new.org/1" in made.ends.recorded


@DRIVEN
def test_the_engine_is_asked_while_it_works(is_driven: bool) -> None:
    with running(is_driven=is_driven, delay_s=0.0) as made:
        state = ServerState("even1.org", 1000.0, 2)
        made.driver.with_engine(lambda engine: engine.keep_pauses([state], CLOCK.monotonic()))
        made.driver.feed("http://even1.org/1", DUE)
        made.driver.feed("http://even2.org/1", DUE)
        made.ends.await_count(1)
        assert made.ends.recorded == ["http://even2.org/1"]
        states = made.driver.with_engine(lambda engine: engine.pauses(CLOCK.monotonic()))
        assert 900 < states["even1.org"].pause_s <= 1000
        assert states["even1.org"].exceptions == 2
        made.driver.with_engine(lambda engine: engine.give_back("even1.org".__eq__, "lost"))
        assert made.ends.returned == [("http://even1.org/1", "lost")]


def test_with_transfers_few_threads_fetch_what_would_block() -> None:
    before = threading.active_count()
    with running(is_driven=True, threads=300, blocking_threads=2) as made:
        for page in range(20):
            made.driver.feed(f"http://odd{page}.org/", DUE)
        made.ends.await_count(20)
        assert threading.active_count() <= before + 4
        names = {thread.name for thread in threading.enumerate()}
        assert {"fetcher-transfers", "fetcher-0", "fetcher-1"} <= names
        assert "fetcher-2" not in names


@DRIVEN
def test_one_who_feeds_waits_for_no_thread_that_has_the_engine(is_driven: bool) -> None:
    may_go_on, has_begun = threading.Event(), threading.Event()

    def slow(engine: FetchEngine) -> None:
        has_begun.set()
        may_go_on.wait(LONG_S)

    with running(is_driven=is_driven) as made:
        holder = threading.Thread(target=made.driver.with_engine, args=(slow,))
        holder.start()
        assert has_begun.wait(LONG_S)
        made.driver.feed("http://even1.org/", DUE)  # returns while the engine is in use
        assert made.ends.recorded == []
        may_go_on.set()
        holder.join(LONG_S)
        made.ends.await_count(1)


class CountedTransfers:
    """Counts how often its thread has looked."""

    def __init__(self, transfers: Transfers) -> None:
        self.transfers = transfers
        self.advances = 0

    def begin(self, request: Request, ticket: object) -> bool:
        return self.transfers.begin(request, ticket)

    def advance(self, seconds: float | None) -> list[tuple[object, Response | Failure]]:
        self.advances += 1
        return self.transfers.advance(seconds)

    def wake(self) -> None:
        self.transfers.wake()

    def close(self) -> None:
        self.transfers.close()


@pytest.mark.parametrize("plugin", ["http", "http-requests"])
def test_a_real_protocol_rests_without_work_and_is_woken(plugin: str) -> None:
    from crawl.testing.servers.scripted_server import scripted_server

    config = Config.of(
        {
            "http.agent.name": "mybot",
            "plugin.protocol": plugin,
            "http.filter.ipaddress.allow.private": True,
        }
    )
    protocols = Protocols(resolved_protocols(config), config)
    made = Running(is_driven=False)
    transfers = protocols.transfers()
    made.driver = ThreadedDriver(made.engine, protocols.fetch, 4, CLOCK, transfers=transfers)
    counted = None if transfers is None else CountedTransfers(transfers)
    made.driver.transfers = counted
    with scripted_server() as server:
        for page in range(5):
            server.page(f"/{page}")
        server.page("/robots.txt", b"")
        made.thread.start()
        for page in range(5):
            made.driver.feed(server.url(f"/{page}", "127.0.0.1"), DUE)
            made.ends.await_count(page + 1)
        for _ in range(100):  # until it has come to rest
            before = counted.advances if counted else 0
            threading.Event().wait(1.2)
            if counted is None or counted.advances == before:
                break
        else:
            pytest.fail("it never rests")
        made.driver.end()
        made.join()
    protocols.close()
    assert len(made.ends.recorded) == 5, made.ends.returned
