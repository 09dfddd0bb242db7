"""Rounds that overlap: while one list is fetched, the round of the list before it is closed and the
next list made.

Only one fetch runs at a time, and a URL is on one list at a time (generate leaves out what is on
lists of unfinished segments), so that no host is asked by two. The fetch runs in the calling
thread, which hears signals, the rest beside it in another. All state is in the crawl's folder, as
it is where steps come one after the other: whoever dies is gone on from in either way.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import copy_context
from functools import partial

from crawl.config import Config
from crawl.fetcher.task import STOP
from crawl.fetcher.values.settings import FETCHER_FOLLOW_DEPTH, HTTP_REDIRECT_MAX
from crawl.operations.events import Observer
from crawl.rounds.lanes import Beside, Lane
from crawl.rounds.loop import RoundLoop
from crawl.rounds.state import segment_states
from crawl.rounds.steps import UNBOUNDED, LoopOptions, StopReason, next_steps

_SIGNALS_HEARD_S = 0.5
"""An interruption that another thread asks for is heard between two waits only."""
_CANCELLED_WITHIN_S = 60.0
"""How long a step that was cancelled is waited for: it has locks to give back."""


def can_overlap(config: Config, loop: LoopOptions) -> bool:
    """Whether overlapping rounds come to the same. Not where their number is given, which says how
    deep a crawl goes: lists that are made ahead know less. Nor where a fetch asks for more than is
    on its list: the next list may have the same."""
    asks_for_more = config[HTTP_REDIRECT_MAX] > 0 or config[FETCHER_FOLLOW_DEPTH] > 0
    return loop.rounds == UNBOUNDED and not asks_for_more


def fetch_parts(cores: int) -> int:
    """How many of the cores fetch at the same time: a part has one to its end, and what is done
    beside it needs some, too."""
    return max(1, cores - max(1, cores // 4))


def overlapping(beside: Beside) -> Callable[[RoundLoop], StopReason]:
    """Runs the rounds of a loop so: for whoever makes one."""
    return lambda loop: OverlappedRounds(loop, beside).run()


class OverlappedRounds:
    """Runs the rounds of a loop in two lanes."""

    def __init__(self, loop: RoundLoop, beside: Beside) -> None:
        self._loop = loop
        self._beside = beside

    def run(self) -> StopReason:
        """Runs rounds until the loop ends."""
        while True:
            stop = self._loop.stop_requested() or self._run_pair()
            if stop is not None:
                return stop

    def _run_pair(self) -> StopReason | None:
        """Fetches a list, and does beside it all that can be done; or that alone, where there is
        no list."""
        loop = self._loop
        due = next_steps(segment_states(loop.directory), loop.round).fetch
        if due is None:
            return loop.wait_or_stop(self._close_and_generate(None, loop.lane))
        (name,) = due.segments
        later = _LateEvents()
        lane = Lane(self._beside.runner, later)
        closing = _Thread(partial(self._beside_fetch, name, lane))
        closing.start()
        try:
            stop = loop.run_step(due, loop.lane)
            while not closing.is_done.wait(_SIGNALS_HEARD_S):
                pass
        except BaseException:
            self._cancel(closing)
            raise
        later.tell(loop.lane.observer)
        if closing.fault is not None:
            raise closing.fault
        return loop.wait_or_stop(stop)

    def _cancel(self, closing: _Thread) -> None:
        """Cancels what is done beside the fetch until it has ended. Not once: a job that it was
        about to begin is cancelled by none but a later word."""
        for _ in range(int(_CANCELLED_WITHIN_S / _SIGNALS_HEARD_S)):
            self._beside.cancel()
            if closing.is_done.wait(_SIGNALS_HEARD_S):
                return

    def _beside_fetch(self, fetching: str, lane: Lane) -> None:
        try:
            with self._beside.working():
                self._close_and_generate(fetching, lane)
        except BaseException:
            # there is nothing to go on with: what is fetched until now is kept
            self._loop.directory.segments.segment(fetching).folder.write(STOP, b"")
            raise

    def _close_and_generate(self, fetching: str | None, lane: Lane) -> StopReason | None:
        """Closes the rounds of all lists that were fetched, and makes one list ahead; returns what
        speaks against another round."""
        loop = self._loop
        while loop.stop_requested() is None:
            states = segment_states(loop.directory)
            due = next_steps(states, loop.round, fetching).beside
            if due is None:
                return None
            reason = loop.run_step(due, lane)
            if reason is not None or due.step is loop.round.generate:
                return reason
        return None


class _Thread(threading.Thread):
    """Keeps what it dies of, and works in the context of whoever made it."""

    def __init__(self, work: Callable[[], None]) -> None:
        super().__init__(name="beside-fetch", daemon=True)
        self._context, self._work = copy_context(), work
        self.fault: BaseException | None = None
        # Not by `join`: one that a signal interrupts takes the thread for ended (bpo-45274).
        self.is_done = threading.Event()

    def run(self) -> None:
        try:
            self._context.run(self._work)
        except BaseException as fault:
            self.fault = fault
        finally:
            self.is_done.set()


class _LateEvents:
    """Keeps what there is to tell until the terminal is free: the fetch has a display on it."""

    progress_seconds: float | None = None

    def __init__(self) -> None:
        self._events: list[object] = []

    def on_event(self, event: object) -> None:
        self._events.append(event)

    def tell(self, observer: Observer) -> None:
        for event in self._events:
            observer.on_event(event)
