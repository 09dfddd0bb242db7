"""Who writes in a crawl, and whose locks are left by the dead."""

from __future__ import annotations

from dataclasses import dataclass

from crawl.clock import Clock
from crawl.config import Config
from crawl.storage.crawl_dir import CrawlDir, lock_timing
from crawl.storage.lock import LOCK_NAME, lock_owner


@dataclass(frozen=True, slots=True)
class FoundLock:
    """A lock that is there."""

    path: str
    """Relative to the crawl's folder."""
    owner: str
    dead: str | None
    """Why its owner can no longer be at work; None where it may be."""


def found_locks(directory: CrawlDir, config: Config, clock: Clock) -> list[FoundLock]:
    """All locks of the crawl."""
    found = []
    now_ms, stale_after_ms = clock.now_ms(), lock_timing(config)["stale_after_ms"]
    root = directory.folder.address.rstrip("/") + "/"
    for folder in directory.lock_folders():
        owner = lock_owner(folder)
        if owner is not None:
            path = f"{folder.address.removeprefix(root)}/{LOCK_NAME}"
            dead = owner.is_dead(now_ms, stale_after_ms)
            found.append(FoundLock(path, owner.described(now_ms), dead))
    return found
