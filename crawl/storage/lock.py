"""One writer at a time for a dataset.

The lock is a file created only if absent. It names its owner, so that whoever meets it
learns who works there and since when. A lock whose owner is surely dead (this machine,
no such process) or has shown no sign of life for long (another machine) is taken over;
any other is refused unless stolen. Whoever removes another's lock or renews its own holds
a second lock meanwhile: of two who meet a dead lock, the slower must not remove the
quicker's new one, and a sign of life must not bring back a lock that was just removed.

An owner that was taken for dead may only have slept, and wakes between its last look at the
lock and its write. So a lock has a fence (filesystems/fences.py): what the owner writes through
`Lock.folder` is done in the store only while nobody has taken the lock over. Whoever does, shuts
the former owner out before it removes the lock: it has `shut_out` change what that one may be
about to write, where stores compare versions, and closes its place, where they rename. If the
sleeper was quicker, its write is there before the successor looks at what to begin with; if it
is later, it fails, and says so. Its signs of life and its release are writes of the same kind.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import TypedDict, Unpack

import msgspec

from crawl.clock import Clock
from crawl.errors import Locked, StorageError
from crawl.storage.folder import Folder
from crawl.storage.lock_owner import LockOwner, this_process

LOCK_NAME = "LOCK"
"""Of the lock of a folder; that of a single file has a name of its own."""
_CHANGE = ".change"
CHANGE_NAME = LOCK_NAME + _CHANGE
"""Held for moments, by whoever removes or rewrites a lock that is there."""

ShutOut = Callable[[Folder], None] | None
"""What else is done, with the folder of a new owner, to keep the former one from writing."""


class LockTiming(TypedDict):
    """When a lock counts as dead, and how often its owner shows life."""

    stale_after_ms: float
    heartbeat_s: float


class LockOptions(TypedDict, total=False):
    """How a lock is taken: whether from a living owner, and what keeps that one from writing."""

    steal_lock: bool
    shut_out: ShutOut


@dataclass(eq=False)
class Lock:
    """A lock that is held."""

    folder: Folder
    """For small files that only the lock's owner may write: a write fails with Locked when
    that is somebody else by then."""
    name: str
    owner: LockOwner
    clock: Clock
    took_over: str | None
    """Whose lock had to be removed and why, for the user to read."""
    # the heartbeat must not tear a file being verified
    _busy: threading.Lock = field(default_factory=threading.Lock, init=False)

    def verify(self) -> None:
        """Raises Locked where somebody forced the lock away: nothing may be published."""
        with self._busy:
            self._verify()

    def _verify(self) -> None:
        holder = _look(self.folder, self.name).owner
        if holder is None or holder.token != self.owner.token:
            thief = holder.described(self.clock.now_ms()) if holder else "nobody"
            raise Locked(
                f"{self.folder.address}: the lock was taken away while this job ran and is now"
                f" held by {thief}; nothing was published"
            )

    def show_life(self) -> None:
        """Renews the sign of life, if the lock is still ours.

        Where somebody is changing the lock at this very moment, the next beat will do.
        """
        with self._busy:
            self._verify()
            with _changing(self.folder, self.name, self.owner, self.clock) as may:
                if may:
                    self._verify()
                    self.owner = replace(self.owner, seen_ms=self.clock.now_ms())
                    self.folder.write(self.name, _encode(self.owner))

    def release(self) -> None:
        try:
            holder = _look(self.folder, self.name).owner
            if holder is not None and holder.token == self.owner.token:
                self.folder.remove(self.name)
                # left by whoever died between the removal of a dead lock and the end of the change
                _remove_dead_change(self.folder, self.name, self.clock)
        finally:
            self.folder.fence_open(False)


def acquire(
    folder: Folder,
    command: str,
    clock: Clock,
    *,
    stale_after_ms: float,
    steal_lock: bool = False,
    name: str = LOCK_NAME,
    shut_out: ShutOut = None,
) -> Lock:
    """Takes the lock or raises Locked, saying who holds it and what can be done. `shut_out` is
    given the new owner's folder before another's lock is removed."""
    owner = this_process(command, clock.now_ms())
    taking = _Taking(folder, name, owner, clock, shut_out)
    took_over: str | None = None
    for attempt in range(_ATTEMPTS):
        if folder.create(name, _encode(owner)):
            return taking.taken(took_over)
        file = _look(folder, name)
        if file.absent:
            continue  # released since
        reason = file.why_removable(clock.now_ms(), stale_after_ms, steal_lock)
        if reason is None:
            raise _refusal(folder, file, clock)
        # a change takes moments: one that lasts so long is of an owner that sleeps
        is_stuck = steal_lock and attempt >= _ATTEMPTS // 2
        if taking.remove(file, stale_after_ms, steal_lock=steal_lock, stuck=is_stuck):
            took_over = reason
        else:
            _pause.wait(_CHANGE_PAUSE_S)
    raise Locked(f"{folder.address} is locked: somebody else was quicker")


def require_free(
    folder: Folder, clock: Clock, *, stale_after_ms: float, steal_lock: bool = False
) -> None:
    """Raises what `acquire` would raise now; takes and removes nothing.

    For whoever has something costly to do before it takes the lock.
    """
    file = _look(folder, LOCK_NAME)
    if not (file.absent or file.why_removable(clock.now_ms(), stale_after_ms, steal_lock)):
        raise _refusal(folder, file, clock)


def remove_if_dead(
    folder: Folder, command: str, clock: Clock, *, stale_after_ms: float
) -> str | None:
    """Removes the lock of a process that is dead, where there is one; what to tell of it."""
    file = _look(folder, LOCK_NAME)
    now_ms = clock.now_ms()
    reason = file.why_removable(now_ms, stale_after_ms)
    taking = _Taking(folder, LOCK_NAME, this_process(command, now_ms), clock, None)
    return reason if reason and taking.remove(file, stale_after_ms) else None


def _refusal(folder: Folder, file: _LockFile, clock: Clock) -> Locked:
    assert file.owner is not None
    return Locked(
        f"{folder.address} is locked: {file.owner.described(clock.now_ms())}."
        " Wait for it, or run again with --steal-lock if you know that it is dead"
    )


@dataclass(frozen=True, slots=True)
class _Taking:
    """One process on its way to a lock."""

    folder: Folder
    name: str
    owner: LockOwner
    clock: Clock
    shut_out: ShutOut

    def taken(self, took_over: str | None) -> Lock:
        """The lock, whose file was just created. Fences of others that are still open now are of
        those who died on the way, or whose lock was deleted by hand."""
        guarded = self.folder.guarded(self.name, self.owner.token)
        lock = Lock(guarded, self.name, self.owner, self.clock, took_over)
        guarded.fence_open(True)
        try:
            lock.verify()
            guarded.shut_out(None)
            return lock
        except BaseException:
            guarded.fence_open(False)
            raise

    def remove(
        self,
        unwanted: _LockFile,
        stale_after_ms: float,
        *,
        steal_lock: bool = False,
        stuck: bool = False,
    ) -> bool:
        """Removes the lock that was found, unless it has changed; says whether it did."""
        guarded = self.folder.guarded(self.name, self.owner.token, is_holder=False)
        with _changing(guarded, self.name, self.owner, self.clock, stuck=stuck) as may:
            if not may:
                return False
            guarded.fence_open(True)
            try:
                now = _look(guarded, self.name)
                now_ms = self.clock.now_ms()
                if not now.same_as(unwanted) or (
                    now.why_removable(now_ms, stale_after_ms, steal_lock) is None
                ):
                    return False
                if self.shut_out is not None:
                    self.shut_out(guarded)
                guarded.shut_out(now.owner.token if now.owner else None)
                return guarded.remove(self.name)
            finally:
                guarded.fence_open(False)


@contextmanager
def _changing(
    folder: Folder, name: str, who: LockOwner, clock: Clock, *, stuck: bool = False
) -> Iterator[bool]:
    """Whether the lock file may be changed in this block: by one at a time. `stuck`: whoever
    does it now is not waited for any longer."""
    if not folder.create(name + _CHANGE, _encode(who)):
        _remove_dead_change(folder, name, clock, steal_lock=stuck)
        yield False
        return
    try:
        yield True
    finally:
        owner = _look(folder, name + _CHANGE).owner
        if owner is not None and owner.token == who.token:
            folder.delete(name + _CHANGE)


def _remove_dead_change(
    folder: Folder, name: str, clock: Clock, *, steal_lock: bool = False
) -> None:
    """Removes the second lock of a process that died in the very moment of a change."""
    other = _look(folder, name + _CHANGE)
    if other.why_removable(clock.now_ms(), _CHANGE_STALE_MS, steal_lock):
        if other.owner is not None:
            folder.shut_out(other.owner.token)
        folder.delete(name + _CHANGE)


@contextmanager
def hold_lock(
    folder: Folder,
    command: str,
    clock: Clock,
    *,
    stale_after_ms: float,
    heartbeat_s: float,
    **options: Unpack[LockOptions],
) -> Iterator[Lock]:
    """Holds the lock for a block, showing signs of life from a thread meanwhile."""
    lock = acquire(folder, command, clock, stale_after_ms=stale_after_ms, **options)
    is_over = threading.Event()

    def beat() -> None:
        while not is_over.wait(heartbeat_s):
            try:
                lock.show_life()
            except Locked:
                return  # the publication will find out and say so
            except StorageError:
                continue  # a passing fault of the store: try again at the next beat

    heart = threading.Thread(target=beat, name="lock-heartbeat", daemon=True)
    heart.start()
    try:
        yield lock
    finally:
        is_over.set()
        heart.join()
        lock.release()


@contextmanager
def hold_file(folder: Folder, name: str, command: str, clock: Clock) -> Iterator[Lock]:
    """Holds a single file for the moments in which it is read and written anew; waits for
    whoever does the same, as nobody takes long."""
    lock = _wait_for(folder, f"{name}.{LOCK_NAME}", command, clock)
    try:
        yield lock
    finally:
        lock.release()


def _wait_for(folder: Folder, name: str, command: str, clock: Clock) -> Lock:
    for attempt in range(_FILE_WAITS + 1):
        try:
            return acquire(folder, command, clock, stale_after_ms=_CHANGE_STALE_MS, name=name)
        except Locked:
            if attempt < _FILE_WAITS:
                _pause.wait(_FILE_PAUSE_S)
    owner = _look(folder, name).owner
    who = owner.described(clock.now_ms()) if owner else "somebody"
    raise Locked(f"{folder.path(name)} is still held: {who}")


def is_left_by_dead(folder: Folder, clock: Clock, *, stale_after_ms: float) -> bool:
    """Whether there is a lock that `remove_if_dead` would remove."""
    file = _look(folder, LOCK_NAME)
    return file.why_removable(clock.now_ms(), stale_after_ms) is not None


def lock_owner(folder: Folder) -> LockOwner | None:
    """Who is writing there now; None where nobody is."""
    return _look(folder, LOCK_NAME).owner


def _encode(owner: LockOwner) -> bytes:
    return json.dumps(asdict(owner), indent=1).encode()


@dataclass(frozen=True, slots=True)
class _LockFile:
    """A lock file as it was met: absent, torn (no owner) or whole."""

    absent: bool
    owner: LockOwner | None = None

    def same_as(self, other: _LockFile) -> bool:
        tokens = [file.owner.token if file.owner else None for file in (self, other)]
        return self.absent == other.absent and tokens[0] == tokens[1]

    def why_removable(
        self, now_ms: int, stale_after_ms: float, steal_lock: bool = False
    ) -> str | None:
        """What to tell the user when it is removed; None where it must stay."""
        if self.absent:
            return None
        if self.owner is None:
            return "removed a lock that its owner never finished writing"
        reason = self.owner.is_dead(now_ms, stale_after_ms) or ("stolen" if steal_lock else None)
        return reason and f"removed the lock of {self.owner.described(now_ms)}: {reason}"


def _look(folder: Folder, name: str) -> _LockFile:
    """The lock file of that name.

    A torn file may be a living owner in the middle of its write: that takes moments,
    so look again for a while before believing it.
    """
    for _ in range(_TORN_LOOKS):
        raw = folder.read_anew(name)
        if raw is None:
            return _LockFile(absent=True)
        try:
            return _LockFile(absent=False, owner=msgspec.json.decode(raw, type=LockOwner))
        except (ValueError, RecursionError):
            _pause.wait(_TORN_PAUSE_S)
    return _LockFile(absent=False)


_ATTEMPTS = 60
_CHANGE_PAUSE_S = 0.05
_CHANGE_STALE_MS = 60_000
"""A change takes moments: one of another machine that is older than this is dead."""
_FILE_PAUSE_S = 0.05
_FILE_WAITS = 2400
"""Two minutes: longer than it takes until a lock of another machine is dead."""
_TORN_LOOKS = 20
_TORN_PAUSE_S = 0.1
_pause = threading.Event()  # never set: a sleep
