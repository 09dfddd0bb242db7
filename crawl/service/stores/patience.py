"""A store whose faults the service survives: threads that have taken work on wait until it answers
again, all others are told at once.

What was taken on must end, and cannot without the store; its threads would end by the first fault,
and the service with them. Who asks from outside is better told now, and asks again (503).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Lock, get_ident
from typing import TypeVar

from crawl.clock import Clock
from crawl.counters import Counters
from crawl.errors import StorageError
from crawl.service.stores.store import Row, Space, Store, StoreStats

FIRST_PAUSE_S = 0.05
LONGEST_PAUSE_S = 2.0

_Answer = TypeVar("_Answer")
_log = logging.getLogger(__name__)


class PatientStore:
    """A store like the one that it is made of."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        counters: Counters,
        pause: Callable[[float], bool] | None = None,
    ) -> None:
        """`pause` waits for so many seconds and says whether to give up; for tests."""
        self._store = store
        self._clock = clock
        self._counters = counters
        self._ended = Event()
        self._pause = pause or self._ended.wait
        self._lock = Lock()
        self._patient: set[int] = set()
        self._waiting: dict[int, StorageError] = {}
        """What threads wait for to pass."""
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
    def failing_s(self) -> float:
        """For how long threads have waited for the store; 0 where none does."""
        with self._lock:
            return self._clock.monotonic() - self._failing_since if self._waiting else 0.0

    def give_up(self) -> None:
        """Has nobody wait any more: the service ends, and what is left is done by the next."""
        self._ended.set()

    def get_many(self, space: Space, keys: Sequence[bytes]) -> list[bytes | None]:
        return self._asked("read", lambda: self._store.get_many(space, keys))

    def put_many(self, space: Space, rows: Sequence[Row]) -> None:
        self._asked("write", lambda: self._store.put_many(space, rows))

    def delete_many(self, space: Space, keys: Sequence[bytes]) -> None:
        self._asked("write", lambda: self._store.delete_many(space, keys))

    def scan(
        self, space: Space, prefix: bytes = b"", after: bytes = b"", limit: int = 1000
    ) -> list[Row]:
        return self._asked("read", lambda: self._store.scan(space, prefix, after, limit))

    def compare_and_set(
        self,
        space: Space,
        key: bytes,
        expected: bytes | None,
        value: bytes | None,
        expires_at_ms: int | None = None,
    ) -> bool:
        """Is asked once, whoever asks: the first time may have been heard, and the second would
        say that it was not."""
        with self._counted("condition"):
            return self._store.compare_and_set(space, key, expected, value, expires_at_ms)

    def stats(self) -> StoreStats:
        with self._counted("read"):
            return self._store.stats()

    def check(self) -> None:
        """Raises StorageError unless the store answers now, and nobody waits for it."""
        with self._lock:
            waited_for = next(iter(self._waiting.values()), None)
        if waited_for is not None:
            raise StorageError(str(waited_for)) from waited_for
        with self._counted("check"):
            self._store.check()

    def close(self) -> None:
        self.give_up()
        self._store.close()

    @contextmanager
    def _counted(self, operation: str) -> Iterator[None]:
        try:
            yield
        except StorageError:
            self._counters[f"store_errors.{operation}"] += 1
            raise

    def _asked(self, operation: str, ask: Callable[[], _Answer]) -> _Answer:
        """The answer. To be asked twice does no harm: reads change nothing, and rows are put by
        their versions."""
        me, pause_s = get_ident(), FIRST_PAUSE_S
        while True:
            try:
                with self._counted(operation):
                    answer = ask()
            except StorageError as error:
                if me not in self._patient:
                    raise
                if not error.may_pass:
                    self._is_over(me)
                    raise
                self._waits(me, error)
                if self._pause(pause_s):
                    self._is_over(me)
                    raise
                pause_s = min(pause_s * 2, LONGEST_PAUSE_S)
            else:
                if me in self._waiting:
                    self._is_over(me)
                return answer

    def _waits(self, me: int, error: StorageError) -> None:
        with self._lock:
            is_first = not self._waiting
            self._waiting[me] = error
            if is_first:
                self._failing_since = self._clock.monotonic()
        if is_first:
            _log.error("%s; the service waits for it", error)

    def _is_over(self, me: int) -> None:
        with self._lock:
            is_last = self._waiting.pop(me, None) is not None and not self._waiting
        if is_last:
            _log.info("the store answers again")
