"""Looks at a lock before Spark is started: whoever must wait learns it at once.

Only a look: the phase takes the lock itself, and says the same where somebody was quicker.
"""

from __future__ import annotations

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.config.properties import LOCK_STALE_AFTER
from crawl.storage.folder import Folder
from crawl.storage.lock import require_free


def require_unlocked(folder: Folder, config: Config, *, force: bool) -> None:
    """Raises Locked where somebody is writing there now."""
    stale_after_ms = config[LOCK_STALE_AFTER] * 60_000
    require_free(folder, SystemClock(), stale_after_ms=stale_after_ms, force=force)
