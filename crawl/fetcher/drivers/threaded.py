"""Runs the engine in real time with threads that sleep until there is something to do.

One lock guards the engine; requests are sent outside it. Of the threads that wait, one wakes
at the moment when the next server is ready, the others when a request ends. Where the
protocol can have many requests under way in one thread, one thread does, and the others only
send what would block it, such as a request to a host that must be looked up first. That is
twice the pages a second: dozens of threads spend more on waiting for the interpreter than on
pages.

An engine that is fed gets its URLs from any thread (`feed`), and `run` goes on until `end` or
`stop` is called. Whoever feeds waits for nobody, and wakes the thread that sends requests; without
work no thread wakes up at all.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from crawl.clock import Clock
from crawl.fetcher.drivers.protocols import ask, withheld
from crawl.fetcher.engine.engine import CRASHED, FetchEngine, ReadyRequest
from crawl.fetcher.frontier.queue import Idle
from crawl.interfaces.protocol import Failure, Request, Response, Transfers
from crawl.model.datum import CrawlDatum

Result = TypeVar("Result")

ENDED = "ended"
"""Why a URL is given back that comes when the driver has ended."""
_TICK_S = 0.5
_REST_S = 3600.0
"""How long a thread without work rests that would be woken for any."""
_MEASURED_S = 1.0
"""The shortest time over which a throughput is measured: less holds too few pages."""


@dataclass(frozen=True, slots=True)
class ThroughputFloor:
    """The least throughput: a fetch that stays below it is ended."""

    pages_per_s: float
    patience_s: float
    """How long the throughput may stay below."""
    after_s: float
    """When to begin to measure."""


class ThroughputCheck:
    """Measures the throughput of a fetch, each second, against its floor."""

    def __init__(self, floor: ThroughputFloor, begun: float) -> None:
        self.floor = floor
        self._starts_at = begun + floor.after_s
        self._measured_at = begun
        self._pages = 0
        self._below_s = 0.0

    def is_too_slow(self, now: float, pages: int) -> bool:
        """Whether the fetch, with so many pages by now, has been below the floor for longer
        than it may."""
        seconds = now - self._measured_at
        if seconds < _MEASURED_S:
            return False
        is_below = (pages - self._pages) / seconds < self.floor.pages_per_s
        is_time = self._measured_at >= self._starts_at
        self._below_s = self._below_s + seconds if is_below and is_time else 0.0
        self._measured_at, self._pages = now, pages
        return self._below_s > self.floor.patience_s


@dataclass(frozen=True, slots=True)
class BandwidthTarget:
    """A bandwidth to keep to by the number of threads that work."""

    kbit_per_s: float
    every_s: float
    max_threads: int

    def threads_for(self, measured_kbit_per_s: float, busy: float, allowed: int) -> int:
        """How many threads may work next, given the bandwidth that the busy ones have used."""
        if measured_kbit_per_s <= 0 or busy <= 0:
            return min(allowed + 1, self.max_threads)
        threads = round(self.kbit_per_s / (measured_kbit_per_s / busy))
        return max(1, min(threads, self.max_threads))


@dataclass(slots=True)
class ThreadedDriver:
    """Runs one engine with threads."""

    engine: FetchEngine
    fetch: Callable[[Request], Response | Failure]
    threads: int
    clock: Clock
    floor: ThroughputFloor | None = None
    bandwidth: BandwidthTarget | None = None
    hang_s: float = math.inf
    """Threads whose requests do not end for so long are abandoned."""
    monitor: Callable[[FetchEngine, int], str] = lambda engine, busy: ""
    """Called now and then with the number of busy threads; a text that it returns is the reason
    to stop."""
    transfers: Transfers | None = None
    """With these one thread has all requests under way but those that would block it, which the
    others `fetch`; closed at the end."""
    blocking_threads: int | None = None
    """With transfers: how many threads fetch what would block; as many as `threads` by default."""
    _allowed: int = field(init=False)
    _blocking: deque[ReadyRequest] = field(default_factory=deque)
    """Requests that would block the thread with the transfers."""
    _is_transferring: bool = field(init=False)
    _lock: threading.Condition = field(default_factory=threading.Condition)
    """Guards the engine and all that follows."""
    _wakes_at: float = math.inf
    _busy: int = 0
    _abandoned: bool = False
    _is_engine_done: bool = False
    """The engine wants nothing more: what is under way then was given up."""
    _fault: BaseException | None = None
    _fed: deque[tuple[str, CrawlDatum, bool]] = field(default_factory=deque)
    """URLs that the engine has not been given yet. This and what follows is no business of the
    lock: who feeds must not wait for a thread that has it."""
    _signal: threading.Event = field(default_factory=threading.Event)
    """Wakes the thread that supervises."""
    _is_resting: bool = False
    """Whether that one would sleep until it is woken."""
    _waking: threading.Lock = field(default_factory=threading.Lock)
    """Held to wake the transfers, which must not be closed meanwhile."""
    _has_ended: bool = False

    def __post_init__(self) -> None:
        self._allowed = self.threads
        self._is_transferring = self.transfers is not None

    def run(self) -> None:
        """Works until the engine is done; raises what a thread of ours died of."""
        most = 0 if self.bandwidth is None else self.bandwidth.max_threads
        count = max(self.threads, most)
        if self.transfers is not None and self.blocking_threads is not None:
            count = self.blocking_threads
        threads = [
            threading.Thread(target=self._work, name=f"fetcher-{number}", daemon=True)
            for number in range(count)
        ]
        if self.transfers is not None:
            run = partial(self._run_transfers, self.transfers)
            threads.insert(0, threading.Thread(target=run, name="fetcher-transfers", daemon=True))
        for thread in threads:
            thread.start()
        try:
            self._supervise(threads)
        except BaseException:
            self.stop("interrupted")
            for thread in threads:
                thread.join()
            raise
        finally:
            self._refuse_fed()
        if self._fault is not None:
            raise self._fault

    def stop(self, reason: str) -> None:
        """Takes nothing more; requests under way are finished."""
        with self._lock:
            self.engine.stop(reason)
            self._lock.notify_all()
        self.wake()

    # of an engine that is fed

    def feed(self, url: str, datum: CrawlDatum, *, again: bool = False) -> None:
        """Has a URL fetched as soon as its server may be asked; from any thread, and at once.
        With `again` it is fetched though the engine has met it before, unless it waits or
        is under way. What becomes of it the output hears, or `EngineHooks.on_returned`; when the
        driver has ended, the latter in this very call."""
        self._fed.append((url, datum, again))
        if self._has_ended:
            self._refuse_fed()
        elif self.transfers is None:
            self._signal.set()  # the thread that supervises has the others begin
        else:
            self._wake_transfers()

    def wake(self) -> None:
        """Has the driver look at the engine anew; from any thread, and without the lock."""
        self._signal.set()
        self._wake_transfers()

    def end(self) -> None:
        """Ends `run` when all that was fed so far is done."""
        with self._lock:
            self._take_fed()
            self.engine.end_feed()
            self._lock.notify_all()
        self.wake()

    def with_engine(self, function: Callable[[FetchEngine], Result]) -> Result:
        """Calls a function with the engine while no other thread uses it, and returns its result:
        for pauses, statistics and whatever else is asked of an engine at work."""
        with self._lock:
            result = function(self.engine)
            self._lock.notify()
        self.wake()
        return result

    def _take_fed(self) -> None:
        """Gives the engine what it was fed; under the lock."""
        fed, engine = self._fed, self.engine
        now = self.clock.monotonic()
        while fed:
            url, datum, again = fed.popleft()
            if again:
                engine.forget(url)
            engine.add(url, datum, now)

    def _refuse_fed(self) -> None:
        """Gives back what comes when nobody works any more."""
        self._has_ended = True
        with self._lock:
            if self._fed:
                self.engine.stop(ENDED)
                self._take_fed()

    def _is_quiet(self) -> bool:
        """Whether nothing happens unless somebody wakes a thread; under the lock."""
        is_ending = self._is_engine_done or self._fault is not None or self._abandoned
        return self.engine.is_fed and not (self._busy or self._fed or is_ending)

    def _pause(self, threads: list[threading.Thread]) -> bool:
        """Waits until it is time to look after the threads; returns whether that may have been
        for long, as they had nothing to do."""
        if not self.engine.is_fed:
            next((thread for thread in threads if thread.is_alive()), threads[0]).join(_TICK_S)
            return False
        self._is_resting = True
        with self._lock:
            self._is_resting = is_quiet = self._is_quiet()
        self._signal.wait(None if is_quiet else _TICK_S)
        self._is_resting = False
        self._signal.clear()
        if self.transfers is None and self._fed:
            with self._lock:
                self._take_fed()
                self._lock.notify()
        return is_quiet

    def _supervise(self, threads: list[threading.Thread]) -> None:
        begun = self.clock.monotonic()
        throughput = None if self.floor is None else ThroughputCheck(self.floor, begun)
        moved, requests = begun, 0
        measured_at, measured_bytes = begun, 0
        while any(thread.is_alive() for thread in threads):
            has_rested = self._pause(threads)
            with self._lock:
                reason = self.monitor(self.engine, self._busy)
                now_pages = self.engine.counters["records"]
                now_requests = self.engine.counters["requests"]
                now_bytes = self.engine.counters["bytes"]
                busy = self._busy
            now = self.clock.monotonic()
            if now_requests != requests or not busy or has_rested:
                moved, requests = now, now_requests
            if now - moved > self.hang_s:
                self._abandon(hung=busy)
                return
            if self._is_engine_done and busy and self._fault is None:
                self._abandon()
                if self.transfers is not None:
                    threads[0].join()  # closes its requests, which takes no time
                break
            if self.bandwidth is not None and now - measured_at >= self.bandwidth.every_s:
                used = (now_bytes - measured_bytes) * 8 / 1000 / (now - measured_at)
                measured_at, measured_bytes = now, now_bytes
                with self._lock:
                    self._allowed = self.bandwidth.threads_for(used, busy, self._allowed)
                    self._lock.notify_all()
            if throughput is not None and throughput.is_too_slow(now, now_pages):
                reason = reason or "throughput_below_floor"
            if reason:
                self.stop(reason)
        # a list of few pages may have been done before the first look
        self.monitor(self.engine, 0)

    def _abandon(self, hung: int = 0) -> None:
        """Ends without the threads whose requests the engine has given up, or that hang: then
        their URLs are returned unfetched."""
        with self._lock:
            if hung:
                self.engine.counters["hung_threads"] += hung
                self.engine.counters["handed_back.hung"] += hung
                self.engine.stop("hung")
            self._abandoned = True
            self._lock.notify_all()

    def _work(self) -> None:
        try:
            while (work := self._next()) is not None:
                answer = ask(self.fetch, work.request, self.clock)
                with self._lock:
                    if self._abandoned:
                        return
                    self._busy -= 1
                    now = self.clock.monotonic()
                    self.engine.handle(work, answer, now)
                    self.engine.commit_point(now)
                    self._lock.notify()
                self._wake_transfers()
        except BaseException as fault:
            self._crash(fault)

    def _crash(self, fault: BaseException) -> None:
        with self._lock:
            self._fault = self._fault or fault
            try:
                self.engine.stop(CRASHED)
            finally:
                self._lock.notify_all()
                self._signal.set()

    def _run_transfers(self, transfers: Transfers) -> None:
        """Has requests under way until the engine is done."""
        try:
            while (seconds := self._begin(transfers)) is not None:
                ended = transfers.advance(seconds)
                if not ended:
                    continue
                with self._lock:
                    if self._abandoned:
                        return
                    now = self.clock.monotonic()
                    self._busy -= len(ended)
                    for work, answer in ended:
                        assert isinstance(work, ReadyRequest)
                        self.engine.handle(work, answer, now)
                    self.engine.commit_point(now)
        except BaseException as fault:
            self._crash(fault)
        finally:
            with self._lock, self._waking:
                self._is_transferring = False
                self._lock.notify_all()
            transfers.close()

    def _begin(self, transfers: Transfers) -> float | None:
        """Begins all requests that may be sent now; how long to wait for the next, or None
        where there is none."""
        with self._lock:
            while not self._abandoned and self._fault is None:
                if self._fed:
                    self._take_fed()
                if self._busy >= self._allowed and not self.engine.stopped:
                    return _TICK_S
                now = self.clock.monotonic()
                step = self.engine.next_request(now)
                if step is None:
                    self._is_engine_done = True
                    self._signal.set()
                    return None
                if isinstance(step, Idle):
                    most = _REST_S if self.engine.is_fed else _TICK_S
                    return most if step.until is None else min(most, step.until - now)
                refused = withheld(step.request)
                if refused is not None:
                    self.engine.handle(step, refused, now)
                    continue
                self._busy += 1
                if self._is_resting:
                    self._signal.set()
                if not self._has_begun(transfers, step):
                    self._blocking.append(step)
                    self._lock.notify()
            return None

    def _has_begun(self, transfers: Transfers, work: ReadyRequest) -> bool:
        try:
            return transfers.begin(work.request, work)
        except Exception:
            return False  # the thread that fetches it will meet the fault, and report it

    def _next_blocking(self) -> ReadyRequest | None:
        """A request that would block the thread with the transfers."""
        while self._is_transferring and not self._blocking:
            self._lock.wait()
        return self._blocking.popleft() if self._blocking and not self._abandoned else None

    def _wake_transfers(self) -> None:
        if self.transfers is None:
            return
        with self._waking:
            if self._is_transferring:
                self.transfers.wake()

    def _next(self) -> ReadyRequest | None:
        with self._lock:
            if self.transfers is not None:
                return self._next_blocking()
            while self._fault is None and not self._abandoned:
                if self._fed:
                    self._take_fed()
                if self._busy >= self._allowed and not self.engine.stopped:
                    self._lock.wait()
                    continue
                now = self.clock.monotonic()
                step = self.engine.next_request(now)
                if isinstance(step, ReadyRequest):
                    self._busy += 1
                    if self._is_resting:
                        self._signal.set()
                    self._lock.notify()  # another thread may find more
                    return step
                if step is None:
                    self._is_engine_done = True
                    self._signal.set()
                    self._lock.notify_all()
                    return None
                self._sleep(step, now)
        return None

    def _sleep(self, idle: Idle, now: float) -> None:
        until = idle.until
        if until is None or until >= self._wakes_at:
            self._lock.wait()  # another thread wakes early enough, or a request will end
            return
        self._wakes_at = until
        self._lock.wait(until - now)
        if self._wakes_at == until:
            self._wakes_at = math.inf
