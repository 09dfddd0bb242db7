"""Runs the engine in real time with threads that sleep until there is something to do.

One lock guards the engine; the network is asked outside it. Of the threads that wait, one
wakes at the moment when the next server is ready, the others when a request ends. Where the
protocol can have many requests under way in one thread, one does, and the others only ask
hosts that must be looked up first: twice the pages a second, for threads in their dozens
spend more on waiting for the interpreter than on pages.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from crawl.clock import Clock
from crawl.fetcher.engine.engine import FetchEngine, ReadyRequest
from crawl.fetcher.frontier.queues import Idle
from crawl.interfaces.protocol import Failure, FailureKind, Request, Response, Transfers

_TICK_S = 0.5


@dataclass(frozen=True, slots=True)
class ThroughputFloor:
    """A fetch slower than this is not worth its end."""

    pages_per_s: float
    patience: int
    """Looks below the floor, one after the other, that are put up with."""
    after_s: float


@dataclass(frozen=True, slots=True)
class BandwidthTarget:
    """A width of the line to keep to: threads are sent to work or to rest by it."""

    kbit_per_s: float
    every_s: float
    most_threads: int

    def threads_for(self, measured_kbit_per_s: float, busy: float, allowed: int) -> int:
        """How many threads may work next, given what as many as were busy have used."""
        if measured_kbit_per_s <= 0 or busy <= 0:
            return min(allowed + 1, self.most_threads)
        wanted = round(self.kbit_per_s / (measured_kbit_per_s / busy))
        return max(1, min(wanted, self.most_threads))


class ThreadedDriver:
    """Threads over one engine."""

    def __init__(
        self,
        engine: FetchEngine,
        fetch: Callable[[Request], Response | Failure],
        threads: int,
        clock: Clock,
        *,
        floor: ThroughputFloor | None = None,
        bandwidth: BandwidthTarget | None = None,
        hang_s: float = math.inf,
        watch: Callable[[FetchEngine, int], str] = lambda engine, busy: "",
        transfers: Transfers | None = None,
    ) -> None:
        """`watch` is called now and then with the number of busy threads; a word that it
        returns is the reason to stop. Threads whose requests do not end for `hang_s` are
        left behind. With `transfers` one thread has all requests under way but those that
        would block it, which the others `fetch`; it is closed at the end."""
        self._engine = engine
        self._fetch = fetch
        self._clock = clock
        self._allowed = threads
        self._threads = threads if bandwidth is None else max(threads, bandwidth.most_threads)
        self._floor = floor
        self._bandwidth = bandwidth
        self._hang_s = hang_s
        self._watch = watch
        self._transfers = transfers
        self._left: deque[ReadyRequest] = deque()
        """What would block the driver."""
        self._driven = transfers is not None
        self._turn = threading.Condition()
        self._wakes_at = math.inf
        self._busy = 0
        self._abandoned = False
        self._fault: BaseException | None = None

    def run(self) -> None:
        """Works until the engine is done; raises what a thread of ours died of."""
        members = [
            threading.Thread(target=self._work, name=f"fetcher-{number}", daemon=True)
            for number in range(self._threads)
        ]
        if self._transfers is not None:
            driver = threading.Thread(
                target=self._drive, args=[self._transfers], name="fetcher-driver", daemon=True
            )
            members.insert(0, driver)
        for member in members:
            member.start()
        try:
            self._look_after(members)
        except BaseException:
            self.stop("interrupted")
            for member in members:
                member.join()
            raise
        if self._fault is not None:
            raise self._fault

    def stop(self, reason: str) -> None:
        """Takes nothing more; requests under way are finished."""
        with self._turn:
            self._engine.stop(reason)
            self._turn.notify_all()
        self._wake_driver()

    def _look_after(self, members: list[threading.Thread]) -> None:
        begun = self._clock.monotonic()
        pages, slow = 0, 0
        moved, requests = begun, 0
        measured_at, measured_bytes = begun, 0
        while any(member.is_alive() for member in members):
            _first_alive(members).join(_TICK_S)
            with self._turn:
                reason = self._watch(self._engine, self._busy)
                now_pages = self._engine.counters["records"]
                now_requests = self._engine.counters["requests"]
                now_bytes = self._engine.counters["bytes"]
                busy = self._busy
            now = self._clock.monotonic()
            if now_requests != requests or not busy:
                moved, requests = now, now_requests
            if now - moved > self._hang_s:
                self._leave_behind(busy)
                return
            if self._bandwidth is not None and now - measured_at >= self._bandwidth.every_s:
                used = (now_bytes - measured_bytes) * 8 / 1000 / (now - measured_at)
                measured_at, measured_bytes = now, now_bytes
                with self._turn:
                    self._allowed = self._bandwidth.threads_for(used, busy, self._allowed)
                    self._turn.notify_all()
            if not reason and self._floor is not None:
                is_time = now - begun > self._floor.after_s
                is_slow = (now_pages - pages) / _TICK_S < self._floor.pages_per_s
                slow = slow + 1 if is_time and is_slow else 0
                reason = "throughput_below_floor" if slow > self._floor.patience else ""
            pages = now_pages
            if reason:
                self.stop(reason)
        # a list of few pages may have been done before anybody looked
        self._watch(self._engine, 0)

    def _leave_behind(self, busy: int) -> None:
        """Ends without the threads that hang; their URLs are handed back."""
        with self._turn:
            self._engine.counters["hung_threads"] += busy
            self._engine.counters["handed_back.hung"] += busy
            self._engine.stop("hung")
            self._abandoned = True
            self._turn.notify_all()

    def _work(self) -> None:
        try:
            while (work := self._next()) is not None:
                answer = self._ask(work.request)
                with self._turn:
                    if self._abandoned:
                        return
                    self._busy -= 1
                    now = self._clock.monotonic()
                    self._engine.handle(work, answer, now)
                    self._engine.settle(now)
                    self._turn.notify()
                self._wake_driver()
        except BaseException as fault:
            self._die_of(fault)

    def _die_of(self, fault: BaseException) -> None:
        with self._turn:
            self._fault = self._fault or fault
            try:
                self._engine.stop("crashed")
            finally:
                self._turn.notify_all()

    def _drive(self, transfers: Transfers) -> None:
        """Has requests under way until the engine is done."""
        try:
            while (seconds := self._begin(transfers)) is not None:
                ended = transfers.advance(seconds)
                if not ended:
                    continue
                with self._turn:
                    if self._abandoned:
                        return
                    now = self._clock.monotonic()
                    self._busy -= len(ended)
                    for work, answer in ended:
                        assert isinstance(work, ReadyRequest)
                        self._engine.handle(work, answer, now)
                    self._engine.settle(now)
        except BaseException as fault:
            self._die_of(fault)
        finally:
            with self._turn:
                self._driven = False
                self._turn.notify_all()
            transfers.close()

    def _begin(self, transfers: Transfers) -> float | None:
        """Begins all requests that may be sent now; how long to wait for the next, or None
        where there is none."""
        with self._turn:
            while not self._abandoned and self._fault is None:
                if self._busy >= self._allowed and not self._engine.stopped:
                    return _TICK_S
                now = self._clock.monotonic()
                found = self._engine.next_request(now)
                if found is None:
                    return None
                if isinstance(found, Idle):
                    return _TICK_S if found.until is None else min(_TICK_S, found.until - now)
                self._busy += 1
                if not self._has_begun(transfers, found):
                    self._left.append(found)
                    self._turn.notify()
            return None

    def _has_begun(self, transfers: Transfers, work: ReadyRequest) -> bool:
        try:
            return transfers.begin(work.request, work)
        except Exception:
            return False  # whoever fetches it will meet the fault, and tell it

    def _next_left(self) -> ReadyRequest | None:
        """What the driver left to a thread."""
        while self._driven and not self._left:
            self._turn.wait()
        return self._left.popleft() if self._left and not self._abandoned else None

    def _wake_driver(self) -> None:
        if self._transfers is None:
            return
        with self._turn:
            if self._driven:
                self._transfers.wake()

    def _next(self) -> ReadyRequest | None:
        with self._turn:
            if self._transfers is not None:
                return self._next_left()
            while self._fault is None:
                if self._busy >= self._allowed and not self._engine.stopped:
                    self._turn.wait()
                    continue
                now = self._clock.monotonic()
                found = self._engine.next_request(now)
                if isinstance(found, ReadyRequest):
                    self._busy += 1
                    self._turn.notify()  # somebody else may find more
                    return found
                if found is None:
                    self._turn.notify_all()
                    return None
                self._sleep(found, now)
        return None

    def _sleep(self, nothing: Idle, now: float) -> None:
        until = nothing.until
        if until is None or until >= self._wakes_at:
            self._turn.wait()  # another thread wakes early enough, or a request will end
            return
        self._wakes_at = until
        self._turn.wait(until - now)
        if self._wakes_at == until:
            self._wakes_at = math.inf

    def _ask(self, request: Request) -> Response | Failure:
        try:
            return self._fetch(request)
        except Exception as fault:
            # a protocol promises not to raise; one that does costs one URL, not the crawl
            now = self._clock.monotonic()
            text = f"{type(fault).__name__}: {fault}"
            return Failure(request.url, FailureKind.OTHER, text, sent=now)


def _first_alive(members: list[threading.Thread]) -> threading.Thread:
    return next((member for member in members if member.is_alive()), members[0])
