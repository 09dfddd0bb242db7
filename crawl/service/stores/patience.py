"""A store whose faults the service survives: threads that have taken work on wait until it answers
again, all others are told at once (crawl/service/patience.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TypeVar

from crawl.clock import Clock
from crawl.counters import Counters
from crawl.errors import StorageError
from crawl.service.patience import Patience
from crawl.service.stores.store import Row, Space, Store, StoreStats

_Answer = TypeVar("_Answer")


class PatientStore:
    """A store like the one that it is made of."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        counters: Counters,
        pause: Callable[[float], bool] | None = None,
        waits: Patience | None = None,
    ) -> None:
        """`pause` waits for so many seconds and says whether to give up; for tests. `waits` is
        shared with others that store something."""
        self._store = store
        self._counters = counters
        self.waits = Patience(clock, pause) if waits is None else waits

    def patience(self) -> AbstractContextManager[None]:
        """Has the current thread wait for as long as the block lasts."""
        return self.waits.patience()

    @property
    def failing_s(self) -> float:
        """For how long somebody has waited; 0 where nobody does."""
        return self.waits.failing_s

    def give_up(self) -> None:
        """Has nobody wait any more: the service ends, and what is left is done by the next."""
        self.waits.give_up()

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
        self.waits.require_nobody_waits()
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

        def counted() -> _Answer:
            with self._counted(operation):
                return ask()

        return self.waits.until_done(counted)
