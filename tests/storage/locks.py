"""Helpers of the tests of locks: they take locks, and plant those of other owners."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

from crawl.storage.folder import Folder
from crawl.storage.lock import LOCK_NAME, Lock, acquire
from crawl.storage.lock_owner import LockOwner, namespace
from crawl.testing.clock import ManualClock

NOW = 1_800_000_000_000
STALE_MS = 15 * 60_000


def take(folder: Folder, clock: ManualClock, *, steal_lock: bool = False) -> Lock:
    return acquire(folder, "inject", clock, stale_after_ms=STALE_MS, steal_lock=steal_lock)


def stranger(**changes: object) -> LockOwner:
    """A living owner on another machine."""
    owner = LockOwner(
        user="ada",
        host="elsewhere",
        namespace=namespace(),
        pid=17,
        process_started="4711",
        command="updatedb",
        token="t0ken",
        taken_ms=NOW - 7_200_000,
        seen_ms=NOW - 1000,
    )
    return replace(owner, **changes)  # type: ignore[arg-type]


def plant(folder: Folder, owner: LockOwner, name: str = LOCK_NAME) -> None:
    folder.write(name, json.dumps(asdict(owner)).encode())
