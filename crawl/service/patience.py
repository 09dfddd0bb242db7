"""Waiting until a disk or a store takes what it is given.

Threads that have taken work on wait, and try again and again: what was acknowledged must end, and
cannot where nothing can be stored; they would end by the first fault, and the service with them.
All others are told at once, and so is new work for as long as anybody waits: who asks from outside
is better told now, and comes back (503).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from threading import Event, Lock, get_ident
from typing import TypeVar

from crawl.clock import Clock
from crawl.errors import DamagedFile, StorageError

FIRST_PAUSE_S = 0.05
LONGEST_PAUSE_S = 2.0

_Answer = TypeVar("_Answer")
_log = logging.getLogger(__name__)


class Patience:
    """Who waits, for what, and for how long; for all threads of a service."""

    def __init__(self, clock: Clock, pause: Callable[[float], bool] | None = None) -> None:
        """`pause` waits for so many seconds and says whether to give up; for tests."""
        self._clock = clock
        self._ended = Event()
        self._pause = pause or self._ended.wait
        self._lock = Lock()
        self._patient: set[int] = set()
        self._waiting: dict[Hashable, StorageError] = {}
        """What threads, or others by their names, wait for to pass."""
        self._failing_since = 0.0

    @contextmanager
    def patience(self) -> Iterator[None]:
        """Has the current thread wait for as long as the block lasts."""
        me = get_ident()
        with self._lock:
            self._patient.add(me)
        try:
            yield
        finally:
            with self._lock:
                self._patient.discard(me)

    @property
    def is_mine(self) -> bool:
        """Whether the current thread waits."""
        return get_ident() in self._patient

    @property
    def has_given_up(self) -> bool:
        """Whether nobody waits any more."""
        return self._ended.is_set()

    @property
    def is_waiting(self) -> bool:
        """Whether somebody waits at the moment."""
        return bool(self._waiting)

    @property
    def failing_s(self) -> float:
        """For how long somebody has waited; 0 where nobody does."""
        with self._lock:
            return self._clock.monotonic() - self._failing_since if self._waiting else 0.0

    def require_nobody_waits(self) -> None:
        """Raises what is waited for."""
        if not self._waiting:
            return
        with self._lock:
            waited_for = next(iter(self._waiting.values()), None)
        if waited_for is not None:
            raise StorageError(str(waited_for)) from waited_for

    def give_up(self) -> None:
        """Has nobody wait any more: the service ends, and what is left is done by the next."""
        self._ended.set()

    def until_done(self, ask: Callable[[], _Answer]) -> _Answer:
        """The answer, which a patient thread has asked for until there is one."""
        me, pause_s = get_ident(), FIRST_PAUSE_S
        while True:
            try:
                answer = ask()
            except StorageError as error:
                if me not in self._patient:
                    raise
                if not passes(error):
                    self.is_over(me)
                    raise
                self.waits(me, error)
                if self._pause(pause_s):
                    self.is_over(me)
                    raise
                pause_s = min(pause_s * 2, LONGEST_PAUSE_S)
            else:
                if me in self._waiting:
                    self.is_over(me)
                return answer

    def waits(self, who: Hashable, error: StorageError) -> None:
        """Notes that somebody waits who tries again by itself."""
        with self._lock:
            is_first = not self._waiting
            self._waiting[who] = error
            if is_first:
                self._failing_since = self._clock.monotonic()
        if is_first:
            _log.error("%s; the service waits for it, and takes nothing new on meanwhile", error)

    def is_over(self, who: Hashable) -> None:
        """Notes that it waits no more."""
        with self._lock:
            is_last = self._waiting.pop(who, None) is not None and not self._waiting
        if is_last:
            _log.info("what was waited for can be stored and read again")


def passes(error: BaseException) -> bool:
    """Whether what went wrong may go well later, as when a disk is full; not what is damaged, or
    belongs to somebody else by now."""
    if isinstance(error, StorageError):
        return error.may_pass and not isinstance(error, DamagedFile)
    return isinstance(error, OSError)
