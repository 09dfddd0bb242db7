from __future__ import annotations

import itertools
import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable

import pytest

from crawl.clock import SystemClock
from crawl.fetcher.drivers import threaded
from crawl.fetcher.drivers.threaded import (
    BandwidthTarget,
    ThreadedDriver,
    ThroughputCheck,
    ThroughputFloor,
)
from crawl.fetcher.engine.engine import FetchEngine
from crawl.fetcher.values.hooks import EngineHooks
from crawl.fetcher.values.politeness import Politeness, ServerPace
from crawl.fetcher.values.record import FetchRecord
from crawl.fetcher.values.settings import FetchSettings
from crawl.interfaces.protocol import Failure, FailureKind, Request, Response
from tests.fetcher.small_web import DUE, CallbackOutput

CLOCK = SystemClock()


class LiveServer:
    """Answers in real time and remembers who asked when."""

    def __init__(self) -> None:
        self.asked: dict[str, list[tuple[float, float]]] = defaultdict(list)
        self.lock = threading.Lock()

    def fetch(self, request: Request) -> Response | Failure:
        begun = CLOCK.monotonic()
        if "crash" in request.url:
            raise RuntimeError("a protocol with a bug")
        time.sleep(0.002)
        code = 404 if request.url.endswith("/robots.txt") else 200
        with self.lock:
            host = request.url.split("/")[2]
            self.asked[host].append((begun, CLOCK.monotonic()))
        return Response(request.url, code, body=b"x", sent=begun)


class FullDisk(list[FetchRecord]):
    def append(self, record: FetchRecord) -> None:
        raise OSError("disk full")


def driver_of(
    urls: list[str], server: LiveServer, records: list[FetchRecord], threads: int, delay_s: float
) -> tuple[ThreadedDriver, FetchEngine]:
    engine = FetchEngine(
        iter([(url, DUE) for url in urls]),
        FetchSettings(threads=threads),
        Politeness(ServerPace(delay_s)),
        EngineHooks(lambda host: host, CLOCK, random.Random(1)),
        CallbackOutput(records.append),
    )
    return ThreadedDriver(engine, server.fetch, threads, CLOCK), engine


class Records(list[FetchRecord]):
    """A list of records that signals when it has reached a length."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self._count = count
        self._has_so_many = threading.Event()

    def append(self, record: FetchRecord) -> None:
        super().append(record)
        if len(self) == self._count:
            self._has_so_many.set()

    def then_stop(self, working: ThreadedDriver) -> None:
        """By a thread of its own, as a signal or a file would."""

        def stop() -> None:
            self._has_so_many.wait()
            working.stop("interrupted")

        threading.Thread(target=stop, daemon=True).start()


def test_threads_fetch_all_and_never_meet_at_one_server() -> None:
    server, records = LiveServer(), list[FetchRecord]()
    urls = [f"http://h{n % 20}.org/p{n}" for n in range(400)]
    working, _ = driver_of(urls, server, records, threads=16, delay_s=0.003)
    working.run()
    assert sorted(record.url for record in records) == sorted(urls)
    for times in server.asked.values():
        ordered = sorted(times)
        for (_, ended), (begun, _) in itertools.pairwise(ordered):
            assert begun - ended >= 0.003


def test_a_fetch_is_looked_at_however_soon_it_is_done() -> None:
    _, engine = driver_of([], LiveServer(), [], threads=1, delay_s=0.0)
    seen: list[FetchEngine] = []

    def monitor(engine: FetchEngine, busy: int) -> str:
        seen.append(engine)
        return ""

    ThreadedDriver(engine, LiveServer().fetch, 1, CLOCK, monitor=monitor).run()
    assert seen and seen[0] is engine


def test_a_protocol_that_raises_costs_one_url() -> None:
    server, records = LiveServer(), list[FetchRecord]()
    urls = ["http://a.org/1", "http://a.org/crash", "http://a.org/2"]
    working, engine = driver_of(urls, server, records, threads=2, delay_s=0.0)
    working.run()
    assert engine.counters["fetch_success"] == 2
    assert engine.counters["answers.other"] == 1


def test_a_stop_finishes_what_is_under_way_and_hands_back_the_rest() -> None:
    server, records = LiveServer(), Records(20)
    urls = [f"http://h{n % 5}.org/p{n}" for n in range(5000)]
    working, engine = driver_of(urls, server, records, threads=4, delay_s=0.001)
    records.then_stop(working)
    working.run()
    assert 0 < len(records) < 5000
    assert engine.counters["handed_back.interrupted"] == 5000 - len(records)


def test_a_fault_of_ours_is_raised_and_ends_all_threads() -> None:
    server = LiveServer()

    working, _ = driver_of(["http://a.org/1"] * 3, server, FullDisk(), threads=3, delay_s=0.0)
    with pytest.raises(OSError, match="disk full"):
        working.run()


@pytest.mark.parametrize(
    ("measured", "busy", "allowed", "expected"),
    [(1000.0, 10, 10, 5), (100.0, 10, 10, 25), (500.0, 10, 10, 10), (0.0, 0, 3, 4), (9e9, 5, 5, 1)],
)
def test_a_bandwidth_target_sends_threads_to_work_or_to_rest(
    measured: float, busy: int, allowed: int, expected: int
) -> None:
    target = BandwidthTarget(kbit_per_s=500.0, every_s=30.0, max_threads=25)
    assert target.threads_for(measured, busy, allowed) == expected


class TestThroughputFloor:
    FLOOR = ThroughputFloor(pages_per_s=2.0, patience_s=5.0, after_s=60.0)

    def ended_at(self, pages_of: Callable[[float], int], look_s: float) -> float | None:
        check = ThroughputCheck(self.FLOOR, begun=100.0)
        looks = (n * look_s for n in range(1, round(200 / look_s)))
        slow = (at for at in looks if check.is_too_slow(100.0 + at, pages_of(at)))
        return next(slow, None)

    @pytest.mark.parametrize("look_s", [0.1, 0.5, 0.7, 1.0])
    def test_retries_are_seconds(self, look_s: float) -> None:
        ended = self.ended_at(lambda at: 0, look_s)
        assert ended is not None
        assert 65.0 < ended <= 68.0

    def test_a_page_now_and_then_is_measured_over_seconds(self) -> None:
        assert self.ended_at(lambda at: int(at) * 2, 0.5) is None
        assert self.ended_at(lambda at: int(at), 0.5) is not None

    def test_what_recovers_in_time_goes_on(self) -> None:
        assert self.ended_at(lambda at: int(at) // 4 * 20, 0.5) is None
        assert self.ended_at(lambda at: int(at) // 10 * 20, 0.5) is not None


class SteppingClock(SystemClock):
    """Half a second passes at each look of the supervisor."""

    def __init__(self) -> None:
        self._moments = itertools.count(step=0.5)

    def monotonic(self) -> float:
        is_main = threading.current_thread() is threading.main_thread()
        return next(self._moments) if is_main else super().monotonic()


def test_fetcher_throughput_threshold_retries_are_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threaded, "_TICK_S", 0.001)
    _, engine = driver_of(["http://a.org/1"], LiveServer(), [], threads=1, delay_s=0.0)
    looks: list[int] = []
    end = threading.Event()

    def monitor(engine: FetchEngine, busy: int) -> str:
        looks.append(busy)
        if engine.stopped:
            end.set()
        return ""

    def fetch(request: Request) -> Response | Failure:
        end.wait()
        return Failure(request.url, FailureKind.OTHER, "")

    floor = ThroughputFloor(pages_per_s=1.0, patience_s=5.0, after_s=0.0)
    ThreadedDriver(engine, fetch, 1, SteppingClock(), floor=floor, monitor=monitor).run()
    assert engine.stopped == "throughput_below_floor"
    assert len(looks) >= 10


def test_threads_that_hang_are_left_behind() -> None:
    server, records = LiveServer(), list[FetchRecord]()
    _, engine = driver_of(["http://a.org/1", "http://b.org/1"], server, records, 2, 0.0)
    forever = threading.Event()

    def fetch(request: Request) -> Response | Failure:
        if "b.org" in request.url:
            forever.wait()
        return server.fetch(request)

    ThreadedDriver(engine, fetch, 2, CLOCK, hang_s=0.3).run()
    assert [record.url for record in records] == ["http://a.org/1"]
    assert engine.counters["hung_threads"] == 1
    forever.set()


class SlowTransfers:
    """Answers after a while, all in the caller's thread; of one host in two it says that
    it would block."""

    def __init__(self, server: LiveServer) -> None:
        self.server = server
        self.under_way: list[tuple[object, Request, float]] = []
        self.threads: set[int] = set()
        self.closed = False
        self.woken = threading.Event()

    def begin(self, request: Request, ticket: object) -> bool:
        if "crash" in request.url:
            raise RuntimeError("a protocol with a bug")
        if int(request.url.split("/")[2].removeprefix("h").removesuffix(".org")) % 2:
            return False
        self.threads.add(threading.get_ident())
        self.under_way.append((ticket, request, CLOCK.monotonic()))
        return True

    def advance(self, seconds: float | None) -> list[tuple[object, Response | Failure]]:
        if not self.under_way:
            self.woken.wait(seconds)
            self.woken.clear()
            return []
        time.sleep(0.002)
        ended: list[tuple[object, Response | Failure]] = []
        for ticket, request, begun in self.under_way:
            code = 404 if request.url.endswith("/robots.txt") else 200
            self.server.asked[request.url.split("/")[2]].append((begun, CLOCK.monotonic()))
            ended.append((ticket, Response(request.url, code, body=b"x", sent=begun)))
        self.under_way.clear()
        return ended

    def wake(self) -> None:
        self.woken.set()

    def close(self) -> None:
        self.closed = True


def driver_with_transfers(
    urls: list[str], records: list[FetchRecord], delay_s: float
) -> tuple[ThreadedDriver, FetchEngine, SlowTransfers]:
    engine = FetchEngine(
        iter([(url, DUE) for url in urls]),
        FetchSettings(threads=8),
        Politeness(ServerPace(delay_s)),
        EngineHooks(lambda host: host, CLOCK, random.Random(1)),
        CallbackOutput(records.append),
    )
    server = LiveServer()
    transfers = SlowTransfers(server)
    return ThreadedDriver(engine, server.fetch, 8, CLOCK, transfers=transfers), engine, transfers


def test_one_thread_drives_and_the_others_ask_what_would_block_it() -> None:
    records = list[FetchRecord]()
    urls = [f"http://h{n % 20}.org/p{n}" for n in range(400)]
    working, _, transfers = driver_with_transfers(urls, records, 0.003)
    working.run()
    assert sorted(record.url for record in records) == sorted(urls)
    assert len(transfers.threads) == 1
    assert transfers.closed
    assert len(transfers.server.asked) == 20
    for times in transfers.server.asked.values():
        for (_, ended), (begun, _) in itertools.pairwise(sorted(times)):
            assert begun - ended >= 0.003


def test_a_driver_that_raises_costs_one_url() -> None:
    records = list[FetchRecord]()
    urls = ["http://h2.org/1", "http://h2.org/crash", "http://h2.org/2"]
    working, engine, _ = driver_with_transfers(urls, records, 0.0)
    working.run()
    assert engine.counters["fetch_success"] == 2
    assert engine.counters["answers.other"] == 1


def test_a_stopped_driver_finishes_what_is_under_way() -> None:
    records = Records(20)
    urls = [f"http://h{n % 6}.org/p{n}" for n in range(5000)]
    working, engine, transfers = driver_with_transfers(urls, records, 0.001)
    records.then_stop(working)
    working.run()
    assert transfers.closed
    assert engine.queues.in_progress == 0
    assert len(records) < len(urls)
    assert len(records) + engine.counters["handed_back.interrupted"] == len(urls)


@pytest.mark.parametrize("blocking", [True, False])
@pytest.mark.parametrize("driven", [True, False])
def test_requests_that_were_given_up_are_not_waited_for(driven: bool, blocking: bool) -> None:
    """By threads, or by the driver: of those that it begins itself, and of others."""
    silent = "h1.org" if blocking else "h0.org"
    urls = [f"http://{silent}/1", f"http://{silent}/2", "http://h2.org/", "http://h3.org/"]
    records, server, forever = list[FetchRecord](), LiveServer(), threading.Event()
    engine = FetchEngine(
        iter([(url, DUE) for url in urls]),
        FetchSettings(threads=4, tail_wait_s=60.0, tail_silence_s=1.5),
        Politeness(ServerPace(0.01)),
        EngineHooks(lambda host: host, CLOCK, random.Random(1)),
        CallbackOutput(records.append),
    )

    def fetch(request: Request) -> Response | Failure:
        if silent in request.url:
            forever.wait()
        return server.fetch(request)

    class SomeSilent(SlowTransfers):
        def advance(self, seconds: float | None) -> list[tuple[object, Response | Failure]]:
            held = [each for each in self.under_way if silent in each[1].url]
            self.under_way = [each for each in self.under_way if each not in held]
            ended = super().advance(seconds)
            self.under_way += held
            return ended

    transfers = SomeSilent(server) if driven else None
    try:
        ThreadedDriver(engine, fetch, 4, CLOCK, transfers=transfers).run()
        assert sorted(record.url for record in records) == urls[2:]
        assert engine.counters["handed_back.robots_unanswered"] == 2
        assert engine.counters["hung_threads"] == 0
        assert transfers is None or transfers.closed
    finally:
        forever.set()


def test_a_fault_of_ours_ends_the_driver() -> None:
    urls = [f"http://h{n}.org/" for n in range(6)]
    working, _, transfers = driver_with_transfers(urls, FullDisk(), 0.0)
    with pytest.raises(OSError, match="disk full"):
        working.run()
    assert transfers.closed
