"""Has services leave the servers of a fetch to it, before it begins (storage/fetch_lanes.py).

Where there has never been a service this costs one look for a file that is not there.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from crawl.clock import Clock
from crawl.config import Config
from crawl.errors import Locked
from crawl.fetcher.values.politeness import Politeness
from crawl.storage.crawl_dir import CrawlDir, lock_timing
from crawl.storage.fetch_lanes import (
    LEASE_S,
    ServingPlace,
    say_any_host,
    serving_places,
)
from crawl.storage.lock import Lock, lock_owner, remove_if_dead
from crawl.storage.server_pauses import ServerPause, last_pauses

_LONGEST_REQUEST_S = 60.0
"""Beyond its lease a service that says nothing may have had a request under way for so long."""
_LOOK_S = 0.2
_log = logging.getLogger(__name__)


def _sleep(seconds: float) -> None:
    threading.Event().wait(seconds)


@dataclass(frozen=True, slots=True)
class ServicesLeft:
    """How services have left the servers of a fetch to it."""

    pauses: tuple[ServerPause, ...] = ()
    """What servers are owed for what services have asked."""
    is_served: bool = False
    """Whether a service is still there, and asks other hosts."""


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
    ) -> ServicesLeft:
        """Waits until no service asks a host of the fetch any more (or any host at all)."""
        token = self.lock.owner.token
        pauses: list[ServerPause] = []
        silent = is_served = False
        waiting = serving_places(self.crawl_dir)
        until = self.clock.monotonic() + LEASE_S + _LONGEST_REQUEST_S
        while waiting and not interrupted():
            left = []
            for place in waiting:
                yielded = place.yielded()
                if yielded and yielded.fetch == token and (yielded.any_host or not any_host):
                    pauses += yielded.pauses
                    is_served = True
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
        return ServicesLeft(tuple(last_pauses(pauses)), is_served or bool(waiting))

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
class LeavingLists:
    """Whether the tasks of a fetch that began where no service was, and has said that it keeps to
    its lists, may ask a server of no list. They find out when they first meet one.

    They say so first, and then look for services; a service looks for that when it can be seen. So
    one of the two sees the other, and where no service is seen, none asks anybody until the fetch
    has ended. Where one has been at work meanwhile, the servers of no list are left to the end of
    the fetch, which has services yield all servers and hears what pauses these are owed.
    """

    address: str
    """Of the crawl's folder, as tasks elsewhere know it."""
    token: str
    """Of the fetch's lock."""
    clock: Clock
    _answer: bool | None = None

    def __call__(self) -> bool:
        if self._answer is None:
            self._answer = self._is_unserved() and self._say() and self._is_unserved()
        return self._answer

    def _is_unserved(self) -> bool:
        now_ms = self.clock.now_ms()
        return not any(place.may_matter(now_ms) for place in serving_places(CrawlDir(self.address)))

    def _say(self) -> bool:
        """Says it; False where the fetch is another's by now, whose word this must not be."""
        crawl_dir = CrawlDir(self.address)
        owner = lock_owner(crawl_dir.fetching_folder)
        if owner is None or owner.token != self.token:
            return False
        say_any_host(crawl_dir, self.token)
        return True
