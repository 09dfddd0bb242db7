"""The two that send requests for a crawl, and how they keep out of each other's way: the fetch that
holds the lock of `fetching`, and services, each with a folder of its own.

    CRAWL_DIR/fetching/LOCK           a fetch at work; its command says if it keeps to its list
                      /ANY_HOST       of one that has come to ask hosts beyond its list
    CRAWL_DIR/serving/SERVED          there have been services
                     /3f0c…/LOCK      a service at work
                           /PAUSES    what servers are owed for its requests, should it die now
                           /YIELDED   which fetch it has left its servers to, and their pauses

A fetch takes its lock, then looks for services; a service takes its own, then looks for a fetch. So
one of two that begin at once sees the other. A service looks every second, yields the servers of
the fetch, and says so in YIELDED when its last request to them has ended: the fetch begins then. A
service that has not looked for `LEASE_S` sends nothing at all, so a fetch that hears nothing knows
when it may begin. When the lock is gone the service takes the servers back, with the pauses that
the fetch has left.

A fetch that began where no service was may meet a robots.txt on a host of no list. It says
ANY_HOST, then looks for services; one that begins looks for ANY_HOST when it has its lock.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import msgspec

from crawl.clock import Clock
from crawl.config import Config
from crawl.storage.crawl_dir import SERVED, SERVING, CrawlDir, locked
from crawl.storage.folder import Folder
from crawl.storage.lock import lock_owner
from crawl.storage.lock_owner import LockOwner
from crawl.storage.server_pauses import ServerPause

KEEPS_TO_ITS_LIST = "fetch"
"""The command in the lock of a fetch that asks the hosts of its list and their twins alone."""
ASKS_ANY_HOST = "fetch of any host"
LEASE_S = 10.0
"""A service sends nothing that has not looked for a fetch for so long."""
_LONG_MS = 3_600_000
_PAUSES = "PAUSES"
_YIELDED = "YIELDED"
_ANY_HOST = "ANY_HOST"
_WWW = "www."


class Yielded(msgspec.Struct, frozen=True):
    """What a service says when it has left its servers to a fetch."""

    fetch: str
    """The token of the fetch's lock."""
    any_host: bool
    """Whether it asks nobody at all meanwhile."""
    pauses: tuple[ServerPause, ...] = ()


class _Pauses(msgspec.Struct, frozen=True):
    pauses: tuple[ServerPause, ...]


@dataclass(frozen=True, slots=True)
class ServingPlace:
    """The folder of one service, as the service and fetches see it."""

    folder: Folder

    def owner(self) -> LockOwner | None:
        """The service; None where it has ended in good order."""
        return lock_owner(self.folder)

    def say_yielded(self, yielded: Yielded) -> None:
        self.folder.write(_YIELDED, msgspec.json.encode(yielded))

    def yielded(self) -> Yielded | None:
        """What it said last; None where that is nothing."""
        raw = self.folder.read_anew(_YIELDED)
        try:
            return None if raw is None else msgspec.json.decode(raw, type=Yielded)
        except msgspec.DecodeError:  # torn: it will be there at the next look
            return None

    def keep_pauses(self, pauses: Iterable[ServerPause]) -> None:
        """Notes what servers are owed, for whoever asks them when this service has died."""
        self.folder.write(_PAUSES, msgspec.json.encode(_Pauses(tuple(pauses))))

    def pauses(self) -> tuple[ServerPause, ...]:
        raw = self.folder.read_anew(_PAUSES)
        try:
            return () if raw is None else msgspec.json.decode(raw, type=_Pauses).pauses
        except msgspec.DecodeError:
            return ()

    def may_matter(self, now_ms: int) -> bool:
        """Whether a service is at work or has died, or has left pauses that are not over."""
        if self.owner() is not None:
            return True
        return any(pause.matters_until_ms > now_ms for pause in self.pauses())

    def forget_if_over(self, now_ms: int) -> bool:
        """Deletes what a service has left that has ended, when no pause of it counts any more;
        whether it did. A folder without pauses may be of a service that begins."""
        if not self.folder.exists(_PAUSES):
            return False
        owner = self.owner()
        if owner is not None and not _is_long_dead(owner, now_ms):
            return False
        if any(pause.matters_until_ms > now_ms for pause in self.pauses()):
            return False
        self.folder.delete("")
        return True


def _is_long_dead(owner: LockOwner, now_ms: int) -> bool:
    """Whether a service died so long ago that whatever it asked last has had its pause."""
    return bool(owner.is_dead(now_ms, _LONG_MS)) and owner.seen_ms + _LONG_MS < now_ms


def serving_places(crawl_dir: CrawlDir) -> list[ServingPlace]:
    """The folders of all services, of those that have ended, too."""
    return [ServingPlace(folder) for folder in crawl_dir.serving_folders()]


def is_served(crawl_dir: CrawlDir, now_ms: int, stale_after_ms: float) -> bool:
    """Whether a service may be at work."""
    owners = map(lock_owner, crawl_dir.serving_folders())
    return any(owner and not owner.is_dead(now_ms, stale_after_ms) for owner in owners)


@contextmanager
def serving(crawl_dir: CrawlDir, config: Config, clock: Clock) -> Iterator[ServingPlace]:
    """The place of a service, for as long as the block lasts."""
    services = crawl_dir.folder.child(SERVING)
    if services.read_anew(SERVED) is None:
        services.write(SERVED, b"")
    folder = services.child(uuid.uuid4().hex)
    with locked(folder, "serve", config, clock):
        yield ServingPlace(folder)


def say_any_host(crawl_dir: CrawlDir, token: str) -> None:
    """Has services know that the fetch with the lock of this token is about to ask hosts beyond
    its list."""
    crawl_dir.fetching_folder.write(_ANY_HOST, token.encode())


def asks_any_host(crawl_dir: CrawlDir, owner: LockOwner) -> bool:
    """Whether the fetch with this lock may ask hosts beyond its list."""
    if owner.command != KEEPS_TO_ITS_LIST:
        return True
    return crawl_dir.fetching_folder.read_anew(_ANY_HOST) == owner.token.encode()


def twin_of(host: str) -> str:
    """The host that a robots.txt most often redirects to: with www. or without. A fetch that keeps
    to its list may ask it, and services yield it."""
    return host.removeprefix(_WWW) if host.startswith(_WWW) else _WWW + host
