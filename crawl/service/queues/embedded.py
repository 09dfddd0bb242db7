"""The durable queue in a file: SQLite, which one process owns.

One thread writes. It takes all that was asked for meanwhile into one transaction, so that any
number of submitters share a wait for the disk (WAL, synchronous=FULL). What is claimed is known in
memory alone: after a death all that is not finished is there to be claimed again.

Where the disk takes nothing, submitters are told so at once. What patient threads want written
(crawl/service/patience.py) is kept in its order, and tried again until there is room.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Generic, TypeVar

from crawl.errors import StorageError
from crawl.service.patience import Patience
from crawl.service.queues.owner_lock import OwnerLock
from crawl.service.queues.queue import Entry, QueueCount
from crawl.service.queues.waiting import Limits, Waiting

_LAYOUT = 1
_TABLE = """
CREATE TABLE entries (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    url TEXT NOT NULL,
    key TEXT NOT NULL,
    priority INTEGER NOT NULL,
    not_before_ms INTEGER NOT NULL,
    payload BLOB NOT NULL
)
"""
_INDEX = "CREATE INDEX entries_url ON entries (url)"
_GROUP = 1000
"""Wishes in a transaction."""
_WAL_BYTES = 16 << 20
"""The log of changes is cut to this after a flood that made it longer."""
_FREE_PAGES_KEPT = 4096
_PAGES_FREED = 512
"""At a time, which takes about 15 ms: others wait for it."""
_AGAIN_S = 0.5
"""After which what the disk did not take is tried again."""
_VARIABLES = 500
"""Values in a statement; SQLite may have been built to take 999."""

_Result = TypeVar("_Result")
_Places = list[tuple[int, int, str]]
"""Numbers, priorities and keys of entries."""


class _Wish(Generic[_Result]):
    """What is to be written: `write` is done in the transaction, `settle` when it is durable."""

    def __init__(
        self,
        write: Callable[[sqlite3.Connection], object],
        settle: Callable[[], _Result],
    ) -> None:
        self.write = write
        self._settle = settle
        self.is_patient = False
        """Whether it is kept where the disk does not take it."""
        self.future: Future[_Result] = Future()
        # nobody can cancel it: it is done all the same
        self.future.set_running_or_notify_cancel()

    def settle(self) -> None:
        self.future.set_result(self._settle())


class EmbeddedQueue:
    """A queue in a file, which is made where there is none."""

    def __init__(self, path: Path, patience: Patience | None = None) -> None:
        self._path = path
        self._patience = patience
        self._held: list[_Wish[object]] = []
        """What is tried again, oldest first. The writer's alone."""
        self._is_full = False
        """Whether the disk did not take what was written last: then the writer tries by itself, so
        that it is known when there is room."""
        self._lock = Lock()
        self._reading = Lock()
        self._waiting = Waiting()
        self._claimed: dict[int, tuple[int, str]] = {}
        self._unfinished: Counter[str] = Counter()
        """Entries by key."""
        self._wishes: SimpleQueue[_Wish[object] | None] = SimpleQueue()
        self._is_closed = False
        self._fault_of_writer: BaseException | None = None
        self._is_to_shrink = False
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self._fault(error) from error
        self._owner = OwnerLock(path.with_name(f"{path.name}.lock"), path)
        try:
            self._writer, self._reader = self._connected(), self._connected()
            self._next_number = self._load()
        except sqlite3.Error as error:
            self._owner.close()
            raise self._fault(error) from error
        except StorageError:
            self._owner.close()
            raise
        self._thread = Thread(target=self._write, name="queue-writer", daemon=True)
        self._thread.start()

    def put(self, entries: Sequence[Entry]) -> Future[int]:
        rows = list(entries)
        for entry in rows:
            _check(entry)
        added: list[tuple[int, Entry]] = []

        def write(connection: sqlite3.Connection) -> None:
            added.clear()  # of a try that failed
            added.extend(self._inserted(connection, rows))

        def settle() -> int:
            with self._lock:
                for number, each in added:
                    self._add(number, each.priority, each.key, each.not_before_ms)
            return len(added)

        return self._wish(_Wish(write, settle))

    def replace(self, entries: Sequence[Entry]) -> Future[int]:
        rows = list(entries)
        for entry in rows:
            _check(entry)
        removed: _Places = []
        added: list[tuple[int, Entry]] = []

        def write(connection: sqlite3.Connection) -> None:
            removed.clear()
            added.clear()
            removed.extend(_places_of(connection, [entry.id for entry in rows]))
            numbers = [(number,) for number, _, _ in removed]
            present = {
                id
                for (number,) in numbers
                for (id,) in connection.execute(
                    "SELECT id FROM entries WHERE number = ?", (number,)
                )
            }
            connection.executemany("DELETE FROM entries WHERE number = ?", numbers)
            added.extend(self._inserted(connection, [row for row in rows if row.id in present]))

        def settle() -> int:
            with self._lock:
                self._remove(removed)
                for number, each in added:
                    self._add(number, each.priority, each.key, each.not_before_ms)
            return len(added)

        return self._wish(_Wish(write, settle))

    def find(self, urls: Sequence[str]) -> dict[str, list[Entry]]:
        found: dict[str, list[Entry]] = {}
        try:
            with self._reading:
                self._check_open()
                for part in _parts(list(dict.fromkeys(urls))):
                    for row in self._reader.execute(
                        "SELECT id, url, key, priority, not_before_ms, payload FROM entries"
                        f" WHERE url IN ({_marks(part)}) ORDER BY number",
                        part,
                    ):
                        entry = Entry(*row)
                        found.setdefault(entry.url, []).append(entry)
        except sqlite3.Error as error:
            raise self._fault(error) from error
        return found

    def entry(self, id: str) -> Entry | None:
        try:
            with self._reading:
                self._check_open()
                row = self._reader.execute(
                    "SELECT id, url, key, priority, not_before_ms, payload FROM entries"
                    " WHERE id = ?",
                    (id,),
                ).fetchone()
        except sqlite3.Error as error:
            raise self._fault(error) from error
        return None if row is None else Entry(*row)

    def next_due_ms(self, now_ms: int) -> int | None:
        with self._lock:
            return self._waiting.next_due_ms(now_ms)

    def unfinished_of(self, key: str) -> int:
        with self._lock:
            return self._unfinished[key]

    def claim(
        self,
        limit: int,
        now_ms: int,
        *,
        per_key: int | Mapping[str, int],
        per_other_key: int = 1,
    ) -> list[Entry]:
        limits = Limits.given(per_key, per_other_key)
        with self._lock:
            self._check_open()
            taken = self._waiting.take(limit, now_ms, limits)
            for number, priority, key in taken:
                self._claimed[number] = priority, key
        try:
            found = self._entries([number for number, _, _ in taken])
        except sqlite3.Error as error:
            self._unclaim(taken)
            raise self._fault(error) from error
        # one that is missing was finished at this moment, and its claim with it
        return [found[number] for number, _, _ in taken if number in found]

    def release(self, id: str, not_before_ms: int) -> Future[bool]:
        released: list[int] = []

        def write(connection: sqlite3.Connection) -> None:
            released.clear()
            for number, _, _ in _places_of(connection, [id]):
                with self._lock:
                    is_claimed = number in self._claimed
                if is_claimed:
                    connection.execute(
                        "UPDATE entries SET not_before_ms = ? WHERE number = ?",
                        (not_before_ms, number),
                    )
                    released.append(number)

        def settle() -> bool:
            with self._lock:
                given_back = False
                for number in released:
                    claim = self._claimed.pop(number, None)
                    if claim is not None:
                        given_back = True
                        priority, key = claim
                        self._waiting.give_back(key)
                        self._waiting.add(number, priority, key, not_before_ms)
            return given_back

        return self._wish(_Wish(write, settle))

    def finish(self, ids: Sequence[str]) -> Future[int]:
        ids = list(ids)
        removed: _Places = []

        def write(connection: sqlite3.Connection) -> None:
            removed.clear()
            removed.extend(_places_of(connection, ids))
            numbers = [(number,) for number, _, _ in removed]
            connection.executemany("DELETE FROM entries WHERE number = ?", numbers)

        def settle() -> int:
            with self._lock:
                self._remove(removed)
            return len(removed)

        return self._wish(_Wish(write, settle))

    def count(self) -> QueueCount:
        with self._lock:
            return QueueCount(dict(self._waiting.count), len(self._claimed))

    def contains(self, id: str) -> bool:
        try:
            with self._reading:
                self._check_open()
                found = self._reader.execute("SELECT 1 FROM entries WHERE id = ?", (id,))
                return found.fetchone() is not None
        except sqlite3.Error as error:
            raise self._fault(error) from error

    def shrink(self) -> None:
        """Gives some of the file's free pages back to the disk, if there are many: to be called now
        and then. A flood of jobs must not cost its disk for ever, and a file that grows and shrinks
        all the time costs writes."""
        self._is_to_shrink = True
        self._wish(_Wish(lambda connection: None, lambda: None)).result()

    def close(self) -> None:
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            self._wishes.put(None)
        self._thread.join()
        with self._reading:
            self._reader.close()
            self._writer.close()
        self._owner.close()

    def _connected(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._path, timeout=60, isolation_level=None, check_same_thread=False
        )
        for pragma in (
            "auto_vacuum = INCREMENTAL",  # of a new file alone, and before anything is in it
            "journal_mode = WAL",
            f"journal_size_limit = {_WAL_BYTES}",
            "synchronous = FULL",
            "fullfsync = ON",
        ):
            connection.execute(f"PRAGMA {pragma}")
        return connection

    def _load(self) -> int:
        """Makes the table or reads it; the next number."""
        (layout,) = self._writer.execute("PRAGMA user_version").fetchone()
        if not layout:
            self._writer.execute("BEGIN IMMEDIATE")
            self._writer.execute(_TABLE)
            self._writer.execute(_INDEX)
            self._writer.execute(f"PRAGMA user_version = {_LAYOUT}")
            self._writer.execute("COMMIT")
        elif layout != _LAYOUT:
            raise StorageError(f"{self._path} has layout {layout}, of a later version of Nutria")
        last = 0
        for number, priority, key, not_before_ms in self._writer.execute(
            "SELECT number, priority, key, not_before_ms FROM entries ORDER BY number"
        ):
            self._add(number, priority, key, not_before_ms)
            last = number
        return last + 1

    def _inserted(
        self, connection: sqlite3.Connection, rows: Iterable[Entry]
    ) -> Iterator[tuple[int, Entry]]:
        """Inserts those that are not there; with their numbers."""
        for entry in rows:
            number = self._next_number
            cursor = connection.execute(
                "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING",
                (
                    number,
                    entry.id,
                    entry.url,
                    entry.key,
                    entry.priority,
                    entry.not_before_ms,
                    entry.payload,
                ),
            )
            if cursor.rowcount == 1:
                # numbers of a try that failed are not given again
                self._next_number += 1
                yield number, entry

    def _add(self, number: int, priority: int, key: str, not_before_ms: int) -> None:
        self._waiting.add(number, priority, key, not_before_ms)
        self._unfinished[key] += 1

    def _remove(self, places: _Places) -> None:
        for number, priority, key in places:
            if self._claimed.pop(number, None) is not None:
                self._waiting.give_back(key)
            else:
                self._waiting.remove(number, priority)
            self._unfinished[key] -= 1
            if not self._unfinished[key]:
                del self._unfinished[key]

    def _entries(self, numbers: Sequence[int]) -> dict[int, Entry]:
        found: dict[int, Entry] = {}
        with self._reading:
            for part in _parts(numbers):
                for row in self._reader.execute(
                    "SELECT number, id, url, key, priority, not_before_ms, payload FROM entries"
                    f" WHERE number IN ({_marks(part)})",
                    part,
                ):
                    found[row[0]] = Entry(*row[1:])
        return found

    def _unclaim(self, taken: _Places) -> None:
        with self._lock:
            for number, priority, key in taken:
                if self._claimed.pop(number, None) is not None:
                    self._waiting.give_back(key)
                    self._waiting.add(number, priority, key, 0)

    def _wish(self, wish: _Wish[_Result]) -> Future[_Result]:
        wish.is_patient = self._patience is not None and self._patience.is_mine
        with self._lock:
            self._check_open()
            self._wishes.put(wish)  # type: ignore[arg-type]
        return wish.future

    def _check_open(self) -> None:
        if self._fault_of_writer is not None:
            raise self._fault(self._fault_of_writer)
        if self._is_closed:
            raise StorageError(f"the queue {self._path} is closed")

    def _write(self) -> None:
        """The writer's thread: until it is told to end. Where it ends by itself, nobody waits for
        it in vain."""
        try:
            self._write_all()
        except BaseException as error:
            with self._lock:
                self._fault_of_writer = error
            fault = StorageError(f"the queue {self._path}: {error}")
            self._give_up_held(fault)
            with suppress(Empty):
                while True:
                    wish = self._wishes.get_nowait()
                    if wish is not None:
                        wish.future.set_exception(fault)

    def _write_all(self) -> None:
        is_last = False
        while not is_last:
            group, is_last = self._gathered()
            # behind what is to be tried again
            wishes, self._held = [*self._held, *group], []
            try:
                self._write_group(wishes)
            except BaseException as error:
                for wish in wishes:
                    if not wish.future.done():
                        wish.future.set_exception(self._fault(error))
                raise
            if self._is_full and not self._held and self._has_room():
                self._is_full = False
                if self._patience is not None:
                    self._patience.is_over(self)
            if self._is_to_shrink:
                self._is_to_shrink = False
                with suppress(sqlite3.Error):  # the next wish says what is wrong
                    self._shrink()
        self._give_up_held(StorageError(f"the queue {self._path} was closed before it was stored"))

    def _gathered(self) -> tuple[list[_Wish[object]], bool]:
        """What is to be written next, and whether it is the last. Nothing, after a while, where
        something is to be tried again."""
        group: list[_Wish[object]] = []
        with suppress(Empty):
            wish = self._wishes.get(timeout=_AGAIN_S if self._is_full else None)
            while wish is not None:
                group.append(wish)
                if len(group) == _GROUP:
                    return group, False
                wish = self._wishes.get_nowait()
            return group, True
        return group, False

    def _write_group(self, group: Sequence[_Wish[object]]) -> None:
        """Writes them; keeps what the disk does not take now and may take later."""
        if group and self._commit(group) is not None:
            # one may have been what the others failed by
            for wish in group:
                if self._held and wish.is_patient:  # in their order
                    self._held.append(wish)
                elif (error := self._commit([wish])) is not None:
                    self._take_fault(wish, error)

    def _take_fault(self, wish: _Wish[object], error: Exception) -> None:
        fault = self._fault(error)
        # not what a bug is, or a damaged file
        may_pass = isinstance(error, sqlite3.OperationalError)
        if may_pass and self._patience is not None:
            self._is_full = True
            self._patience.waits(self, fault)
            if wish.is_patient and not self._patience.has_given_up:
                self._held.append(wish)
                return
        wish.future.set_exception(fault)

    def _has_room(self) -> bool:
        """Whether something can be written now."""

        def write(connection: sqlite3.Connection) -> None:
            connection.execute(f"PRAGMA user_version = {_LAYOUT}")  # as it is

        return self._commit([_Wish(write, lambda: None)]) is None

    def _give_up_held(self, fault: StorageError) -> None:
        held, self._held = self._held, []
        for wish in held:
            if not wish.future.done():
                wish.future.set_exception(fault)
        if self._is_full and self._patience is not None:
            self._patience.is_over(self)

    def _shrink(self) -> None:
        (free,) = self._writer.execute("PRAGMA freelist_count").fetchone()
        if free > _FREE_PAGES_KEPT:
            most = min(free - _FREE_PAGES_KEPT, _PAGES_FREED)
            # a script: by `execute` one page is freed, whatever the number
            self._writer.executescript(f"PRAGMA incremental_vacuum({most})")

    def _commit(self, group: Sequence[_Wish[object]]) -> Exception | None:
        """Writes and settles all of the group; what went wrong, and then nothing is written."""
        try:
            self._writer.execute("BEGIN IMMEDIATE")
            for wish in group:
                wish.write(self._writer)
            self._writer.execute("COMMIT")
        except Exception as error:
            with suppress(sqlite3.Error):
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
            return error
        for wish in group:
            wish.settle()
        return None

    def _fault(self, error: BaseException) -> StorageError:
        if type(error) is sqlite3.DatabaseError:  # not one of its kinds: no database, or malformed
            return StorageError(
                f"{self._path} is damaged: {error}; move it away to begin with an empty queue"
            )
        said = error.strerror if isinstance(error, OSError) else error
        return StorageError(f"the queue {self._path}: {said}")


def _places_of(connection: sqlite3.Connection, ids: Sequence[str]) -> _Places:
    return [
        place
        # an id that is named twice is one entry
        for part in _parts(list(dict.fromkeys(ids)))
        for place in connection.execute(
            f"SELECT number, priority, key FROM entries WHERE id IN ({_marks(part)})", part
        )
    ]


_Value = TypeVar("_Value")


def _parts(values: Sequence[_Value]) -> Iterable[Sequence[_Value]]:
    return (values[at : at + _VARIABLES] for at in range(0, len(values), _VARIABLES))


def _marks(values: Sequence[object]) -> str:
    return ",".join("?" * len(values))


def _check(entry: Entry) -> None:
    """ValueError where it cannot be stored: one must not spoil what others put."""
    for text in (entry.id, entry.url, entry.key):
        text.encode()
    for number in (entry.priority, entry.not_before_ms):
        if not -(1 << 63) <= number < 1 << 63:
            raise ValueError(f"{number} is too large a number")
