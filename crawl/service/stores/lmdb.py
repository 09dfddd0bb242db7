"""The embedded store: LMDB, a B+ tree in a memory-mapped file, read without locks by any number of
threads and processes of one machine, and written by one at a time.

LMDB, as look-ups beside writes took 1.5 ms where SQLite took 26. What several threads write at the
same time goes into one transaction, so that they share the wait for the disk. A commit is on the
disk when it returns; a process that is killed in the middle of one leaves the file as it was.
Nobody may use a store after a fork: a child opens its own.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import Generic, TypeAlias, TypeVar

import lmdb

from crawl.clock import Clock
from crawl.errors import StorageError
from crawl.service.stores.lmdb_files import FILE_NAME, MAX_DATABASES, damaged, ensure_whole
from crawl.service.stores.map_gate import MapGate
from crawl.service.stores.record import (
    NEVER,
    DamagedRecord,
    encoded,
    head_of,
    is_expired,
    value_of,
)
from crawl.service.stores.store import (
    DamagedStore,
    Row,
    Space,
    StoreStats,
    check_condition,
    check_keys,
    check_rows,
    check_scan,
)

MAP_BYTES = 1 << 30
"""Addresses, not bytes of the disk: the file grows as it is filled."""
MAX_MAP_BYTES = 1 << 42
_READERS = 1024
_SWEPT = 2
"""Rows that are removed for each that is written, if so many have expired."""
_SWEPT_AT_MOST = 1000
_TRIES = 64
"""How often the map may change under a transaction that begins."""
_LONGEST = 511
"""What LMDB takes as a key. A longer one is cut, with its digest; that is the only physical key
of this length."""
_DIGEST_BYTES = 32
_CUT = _LONGEST - _DIGEST_BYTES
_MOMENT = struct.Struct(">Q")
_LENGTH = struct.Struct(">I")
_SPACES = tuple(Space)
_DAMAGE = (
    lmdb.CorruptedError,
    lmdb.InvalidError,
    lmdb.PageNotFoundError,
    lmdb.PanicError,
    lmdb.VersionMismatchError,
)

_Answer = TypeVar("_Answer")
_Transaction: TypeAlias = "lmdb.Transaction[bytes]"


class _Write(Generic[_Answer]):
    """What one thread wants written, and what became of it."""

    def __init__(self, work: Callable[[_Transaction], _Answer]) -> None:
        self.work = work
        self.is_done = False
        self.error: BaseException | None = None

    def run(self, transaction: _Transaction) -> None:
        self.answer = self.work(transaction)


class LmdbStore:
    """A folder with an LMDB in it, which is made where there is none."""

    def __init__(
        self,
        path: Path,
        clock: Clock,
        *,
        map_bytes: int = MAP_BYTES,
        max_map_bytes: int = MAX_MAP_BYTES,
    ) -> None:
        self._path = path
        self._clock = clock
        self._max_map_bytes = max_map_bytes
        self._gate = MapGate()
        self._writing = Lock()
        self._waiting_lock = Lock()
        self._waiting: list[_Write[object]] = []
        self._is_closed = False
        try:
            path.mkdir(parents=True, exist_ok=True)
            # what a file has already may be more
            size = max(map_bytes, _size_of(path / FILE_NAME))
            self._environment = lmdb.open(
                str(path),
                map_size=size,
                max_dbs=MAX_DATABASES,
                max_readers=_READERS,
                mode=0o600,
                # look-ups are all over the file
                readahead=False,
            )
        except (lmdb.Error, OSError) as error:
            raise self._fault(error) from error
        try:
            ensure_whole(path, self._environment)
            self._environment.reader_check()
            self._make_databases()
        except (lmdb.Error, OSError) as error:
            self._environment.close()
            raise self._fault(error) from error
        except StorageError:
            self._environment.close()
            raise

    def _make_databases(self) -> None:
        names = [*(space.encode() for space in _SPACES), b"expiries"]

        def made(transaction: _Transaction) -> None:
            opened = [self._environment.open_db(name, txn=transaction) for name in names]
            *spaces, self._expiries = opened
            self._databases = dict(zip(_SPACES, spaces, strict=True))

        self._write(made)

    def get_many(self, space: Space, keys: Sequence[bytes]) -> list[bytes | None]:
        check_keys(keys)
        database, now_ms = self._databases[space], self._clock.now_ms()

        def found(transaction: _Transaction) -> list[bytes | None]:
            get = transaction.get
            values: list[bytes | None] = []
            for key in keys:
                stored = get(_physical(key), None, database)
                values.append(None if stored is None else value_of(_record(key, stored), now_ms))
            return values

        return self._read(found)

    def put_many(self, space: Space, rows: Sequence[Row]) -> None:
        check_rows(rows)
        if not rows:
            return

        def put(transaction: _Transaction) -> None:
            for row in rows:
                old = self._head(transaction, space, row.key)
                if old is None or old[0] <= row.version:
                    self._put(transaction, space, row, old)
            self._sweep(transaction, min(_SWEPT * len(rows), _SWEPT_AT_MOST))

        self._write(put)

    def delete_many(self, space: Space, keys: Sequence[bytes]) -> None:
        check_keys(keys)
        if not keys:
            return

        def delete(transaction: _Transaction) -> None:
            for key in keys:
                self._delete(transaction, space, key)

        self._write(delete)

    def scan(
        self, space: Space, prefix: bytes = b"", after: bytes = b"", limit: int = 1000
    ) -> list[Row]:
        check_scan(prefix, limit)
        database, now_ms = self._databases[space], self._clock.now_ms()
        after = _physical(after)

        def found(transaction: _Transaction) -> list[Row]:
            rows: list[Row] = []
            with transaction.cursor(database) as cursor:
                begin = max(prefix, after)
                there = cursor.set_range(begin) if begin else cursor.first()
                if there and after and cursor.key() == after:
                    there = cursor.next()
                while there and len(rows) < limit:
                    physical, stored = cursor.item()
                    if not physical.startswith(prefix):
                        break
                    key, record = _logical(physical, stored)
                    value = value_of(record, now_ms)
                    if value is not None:
                        version, expires = head_of(record)
                        rows.append(Row(key, value, version, expires if expires else None))
                    there = cursor.next()
            return rows

        return self._read(found)

    def compare_and_set(
        self,
        space: Space,
        key: bytes,
        expected: bytes | None,
        value: bytes | None,
        expires_at_ms: int | None = None,
    ) -> bool:
        check_condition(space, key, value)
        now_ms = self._clock.now_ms()

        def is_set(transaction: _Transaction) -> bool:
            stored = transaction.get(_physical(key), None, self._databases[space])
            record = None if stored is None else _record(key, stored)
            if (None if record is None else value_of(record, now_ms)) != expected:
                return False
            if value is None:
                self._delete(transaction, space, key)
            else:
                head = None if record is None else head_of(record)
                version = 0 if head is None else head[0] + 1
                self._put(transaction, space, Row(key, value, version, expires_at_ms), head)
            self._sweep(transaction, _SWEPT)
            return True

        return self._write(is_set)

    def stats(self) -> StoreStats:
        def counted(transaction: _Transaction) -> dict[Space, int]:
            return {
                space: transaction.stat(database)["entries"]
                for space, database in self._databases.items()
            }

        rows = self._read(counted)
        return StoreStats(f"lmdb:{self._path}", rows, _size_of(self._path / FILE_NAME))

    def check(self) -> None:
        """Answers from a file that was removed would be answers all the same, and lost. To be
        called now and then: what a process that died was reading could not be given back, and the
        file would grow."""
        with self._gate:
            self._check_open()
            try:
                self._environment.reader_check()
            except lmdb.Error as error:
                raise self._fault(error) from error
        self._read(lambda transaction: transaction.stat(self._expiries))
        try:
            (self._path / FILE_NAME).stat()
        except OSError as error:
            raise self._fault(error) from error

    def close(self) -> None:
        with self._writing, self._gate.shut():
            self._is_closed = True
            self._environment.close()

    def _read(self, work: Callable[[_Transaction], _Answer]) -> _Answer:
        for _ in range(_TRIES):
            with self._gate:
                self._check_open()
                try:
                    with self._environment.begin() as transaction:
                        return work(transaction)
                except lmdb.MapResizedError:
                    pass
                except lmdb.ReadersFullError:
                    # those of processes that were killed; others are told below
                    if not self._environment.reader_check():
                        raise self._fault("more than 1,024 read it at the same time") from None
                except DamagedRecord as error:
                    raise damaged(self._path, str(error)) from error
                except lmdb.Error as error:
                    raise self._fault(error) from error
            self._adopt()
        raise self._fault("its size changes again and again")

    def _write(self, work: Callable[[_Transaction], _Answer]) -> _Answer:
        """Has the work done in a transaction with what others want written at the moment. Whoever
        comes first does it for all; those who come meanwhile are the next transaction."""
        mine = _Write(work)
        with self._waiting_lock:
            self._waiting.append(mine)  # type: ignore[arg-type]
        with self._writing:
            if not mine.is_done:
                with self._waiting_lock:
                    group, self._waiting = self._waiting, []
                self._commit(group)
        if mine.error is not None:
            # one for each thread: a traceback belongs to who raises
            kind = DamagedStore if isinstance(mine.error, DamagedStore) else StorageError
            raise kind(str(mine.error)) from mine.error
        return mine.answer

    def _commit(self, group: Sequence[_Write[object]]) -> None:
        error: StorageError | None = None
        try:
            self._transact(group)
        except StorageError as fault:
            error = fault
        except DamagedRecord as fault:
            error = damaged(self._path, str(fault))
        except lmdb.Error as fault:
            error = self._fault(fault)
        except BaseException as fault:
            error = StorageError(f"{self._path}: the transaction was given up ({fault!r})")
            raise
        finally:
            for each in group:
                each.error, each.is_done = error, True

    def _transact(self, group: Sequence[_Write[object]]) -> None:
        for _ in range(_TRIES):
            with self._gate:
                self._check_open()
                try:
                    with self._environment.begin(write=True) as transaction:
                        for each in group:
                            each.run(transaction)
                    return
                except lmdb.MapFullError:
                    is_full = True
                except lmdb.MapResizedError:
                    is_full = False
            if is_full:
                self._grow()
            else:
                self._adopt()
        raise self._fault("its size changes again and again")

    def _grow(self) -> None:
        with self._gate.shut():
            self._check_open()
            size = self._environment.info()["map_size"]
            if size >= self._max_map_bytes:
                raise StorageError(f"{self._path} is full: it has {size:,} bytes, its limit")
            self._environment.set_mapsize(min(size * 2, self._max_map_bytes))

    def _adopt(self) -> None:
        """Takes over the size that another process has given the map."""
        with self._gate.shut():
            self._check_open()
            with suppress(lmdb.Error):  # the next transaction says what is wrong
                self._environment.set_mapsize(0)

    def _check_open(self) -> None:
        if self._is_closed:
            raise StorageError(f"{self._path} is closed")

    def _head(self, transaction: _Transaction, space: Space, key: bytes) -> tuple[int, int] | None:
        stored = transaction.get(_physical(key), None, self._databases[space])
        return None if stored is None else head_of(_record(key, stored))

    def _put(
        self, transaction: _Transaction, space: Space, row: Row, old: tuple[int, int] | None
    ) -> None:
        physical = _physical(row.key)
        if old is not None and old[1] != NEVER:
            transaction.delete(_expiry_key(old[1], space, physical), db=self._expiries)
        record = encoded(row.value, row.version, row.expires_at_ms)
        stored = record if physical is row.key else _long(row.key, record)
        transaction.put(physical, stored, db=self._databases[space])
        if row.expires_at_ms is not None:
            _, expires = head_of(record)
            entry = _expiry_key(expires, space, physical)
            transaction.put(entry, physical, db=self._expiries)

    def _delete(self, transaction: _Transaction, space: Space, key: bytes) -> None:
        old = self._head(transaction, space, key)
        if old is None:
            return
        physical = _physical(key)
        transaction.delete(physical, db=self._databases[space])
        if old[1] != NEVER:
            transaction.delete(_expiry_key(old[1], space, physical), db=self._expiries)

    def _sweep(self, transaction: _Transaction, most: int) -> None:
        """Removes rows that expired, the first first."""
        now_ms = self._clock.now_ms()
        with transaction.cursor(self._expiries) as cursor:
            for _ in range(most):
                if not cursor.first():
                    break
                entry, physical = cursor.item()
                (expires,) = _MOMENT.unpack_from(entry)
                if not is_expired(expires, now_ms):
                    break
                space = Space(entry[_MOMENT.size : -_DIGEST_BYTES].decode())
                transaction.delete(physical, db=self._databases[space])
                cursor.delete()

    def _fault(self, error: object) -> StorageError:
        if isinstance(error, _DAMAGE):
            return damaged(self._path, str(error))
        if isinstance(error, OSError):
            error = error.strerror or error
        return StorageError(f"the store {self._path}: {error}")


def _physical(key: bytes) -> bytes:
    """What LMDB has as the key."""
    if len(key) < _LONGEST:
        return key
    return key[:_CUT] + blake2b(key, digest_size=_DIGEST_BYTES).digest()


def _long(key: bytes, record: bytes) -> bytes:
    """What is stored under a key that was cut."""
    return _LENGTH.pack(len(key)) + key + record


def _record(key: bytes, stored: bytes) -> bytes:
    return stored if len(key) < _LONGEST else stored[_LENGTH.size + len(key) :]


def _logical(physical: bytes, stored: bytes) -> tuple[bytes, bytes]:
    """The key as it was given, and the record."""
    if len(physical) < _LONGEST:
        return physical, stored
    if len(stored) < _LENGTH.size:
        raise DamagedRecord(f"a record of {len(stored)} bytes")
    (length,) = _LENGTH.unpack_from(stored)
    end = _LENGTH.size + length
    return stored[_LENGTH.size : end], stored[end:]


def _expiry_key(expires: int, space: Space, physical: bytes) -> bytes:
    digest = blake2b(physical, digest_size=_DIGEST_BYTES).digest()
    return _MOMENT.pack(expires) + space.encode() + digest


def _size_of(file: Path) -> int:
    """Bytes of the file, 0 where it is not there."""
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0
