"""Has services leave the servers of a fetch to it, before it begins (storage/fetch_lanes.py).

Where there is no service this costs one look at a folder that is not there.
"""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from crawl.clock import Clock
from crawl.config import Config
from crawl.errors import Locked
from crawl.fetcher.values.politeness import Politeness
from crawl.storage.crawl_dir import SERVING, CrawlDir, lock_timing
from crawl.storage.fetch_lanes import (
    LEASE_S,
    ServingPlace,
    is_served,
    serving_places,
)
from crawl.storage.folder import Folder
from crawl.storage.lock import Lock, remove_if_dead
from crawl.storage.server_pauses import ServerPause, last_pauses

_LONGEST_REQUEST_S = 60.0
"""Beyond its lease a service that says nothing may have had a request under way for so long."""
_LOOK_S = 0.2
_LOOK_AGAIN_S = 1.0
_log = logging.getLogger(__name__)


def _sleep(seconds: float) -> None:
    threading.Event().wait(seconds)


@dataclass(frozen=True, slots=True)
class YieldingServices:
    """The services of a crawl, as the fetch that holds this lock asks them to yield."""

    crawl_dir: CrawlDir
    lock: Lock
    config: Config
    clock: Clock
    sleep: Callable[[float], None] = _sleep

    def wait(
        self, *, any_host: bool = False, interrupted: Callable[[], bool] = lambda: False
    ) -> tuple[ServerPause, ...]:
        """Waits until no service asks a host of the fetch any more (or any host at all); the
        pauses that servers are owed for what services have asked."""
        token = self.lock.owner.token
        pauses: list[ServerPause] = []
        silent = False
        waiting = serving_places(self.crawl_dir)
        until = self.clock.monotonic() + LEASE_S + _LONGEST_REQUEST_S
        while waiting and not interrupted():
            left = []
            for place in waiting:
                yielded = place.yielded()
                if yielded and yielded.fetch == token and (yielded.any_host or not any_host):
                    pauses += yielded.pauses
                elif self._has_ended(place):
                    found = place.pauses()
                    has_died = self._bury(place)
                    pauses += self._as_if_just_asked(found) if has_died else found
                    silent |= has_died
                else:
                    left.append(place)
            waiting = left
            if waiting and self.clock.monotonic() >= until:
                break
            if waiting:
                self.sleep(_LOOK_S)
        for place in waiting:
            _log.warning("%s: a service does not answer; its lease is over", place.folder.address)
            pauses += self._as_if_just_asked(place.pauses())
            silent = True
        if silent and not interrupted():
            # what it asked last of all is not among its notes
            self.sleep(Politeness.of(self.config).usual.delay_s)
        return tuple(last_pauses(pauses))

    def _as_if_just_asked(self, pauses: Iterable[ServerPause]) -> list[ServerPause]:
        """What servers are owed at least that a service may have asked just before it died."""
        now_ms = self.clock.now_ms()
        return [
            replace(
                pause,
                ready_ms=max(pause.ready_ms, now_ms + round(pause.crawl_delay_s * 1000)),
                told_ms=now_ms,
            )
            for pause in pauses
        ]

    def _has_ended(self, place: ServingPlace) -> bool:
        owner = place.owner()
        return owner is None or bool(owner.is_dead(self.clock.now_ms(), self._stale_after_ms))

    def _bury(self, place: ServingPlace) -> bool:
        """Removes the lock of a service that has died, and what counts for nothing any more;
        whether it had died."""
        try:
            line = remove_if_dead(
                place.folder, "fetch", self.clock, stale_after_ms=self._stale_after_ms
            )
        except Locked:  # somebody else does
            line = "it has died"
        if line:
            _log.warning("%s", line)
        place.forget_if_over(self.clock.now_ms())
        return line is not None

    @property
    def _stale_after_ms(self) -> float:
        return lock_timing(self.config)["stale_after_ms"]


@dataclass(slots=True)
class ServedLook:
    """Whether a service may be at work on a crawl: a look at its folder, a moment old at most."""

    serving: Folder
    stale_after_ms: float
    clock: Clock
    _looked_at: float = -math.inf
    _is_served: bool = False

    @classmethod
    def of(cls, crawl_dir: CrawlDir, config: Config, clock: Clock) -> ServedLook:
        stale_after_ms = lock_timing(config)["stale_after_ms"]
        return cls(crawl_dir.folder.child(SERVING), stale_after_ms, clock)

    def __call__(self) -> bool:
        now = self.clock.monotonic()
        if now >= self._looked_at + _LOOK_AGAIN_S:
            self._is_served = is_served(self.serving, self.clock.now_ms(), self.stale_after_ms)
            self._looked_at = now
        return self._is_served
