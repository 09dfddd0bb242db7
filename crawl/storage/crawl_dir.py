"""CrawlDir: one crawl's whole state, and the one way to write to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TypeVar, Unpack

from crawl.clock import Clock
from crawl.config import Config
from crawl.config.properties import LOCK_HEARTBEAT, LOCK_STALE_AFTER
from crawl.errors import Locked, NoSnapshot
from crawl.hints import command
from crawl.model.table import Table
from crawl.model.tables import CRAWLDB
from crawl.storage.folder import Folder, absolute
from crawl.storage.lock import (
    Lock,
    LockOptions,
    LockTiming,
    hold_lock,
    is_left_by_dead,
    remove_if_dead,
)
from crawl.storage.manifest import Snapshot, Timeline
from crawl.storage.segments import Segment, Segments
from crawl.storage.snapshot import Dataset, Transaction, WriteOptions

_FETCHING = "fetching"
SERVING = "serving"
"""The folder of the services that send requests (storage/fetch_lanes.py)."""
SERVED = "SERVED"
"""In it, once a service has ever begun: to read a small file that is not there costs a store less
than to list a folder that is not there."""
Result = TypeVar("Result")


def lock_timing(config: Config) -> LockTiming:
    """The times of every lock of a crawl."""
    return LockTiming(
        stale_after_ms=config[LOCK_STALE_AFTER] * 60_000, heartbeat_s=config[LOCK_HEARTBEAT]
    )


def locked(
    folder: Folder, command: str, config: Config, clock: Clock, **options: Unpack[LockOptions]
) -> AbstractContextManager[Lock]:
    """Holds the lock of a folder of the crawl (a segment's, a dataset's) for a block. `shut_out`
    is that of what is in the folder, for whoever publishes it."""
    return hold_lock(folder, command, clock, **lock_timing(config), **options)


class CrawlDir:
    """A crawl's folder: crawldb/, segments/ and whatever later phases add."""

    def __init__(self, address: str) -> None:
        self.address = address
        """As the user named it; tasks elsewhere go by the whole path."""
        self.folder = Folder(absolute(address))
        self.crawldb = self.dataset(CRAWLDB)
        self.segments = Segments(self.folder.child("segments"))

    def dataset(self, table: Table) -> Dataset:
        """The dataset of a table, in the folder of its name."""
        return Dataset(self.folder.child(table.name), table)

    def datasets(self) -> list[Dataset]:
        """The CrawlDb, and every other dataset that a job has ever begun to write here."""
        ours = {CRAWLDB.name, self.segments.folder.address.rpartition("/")[2]}
        names = (name for name in self.folder.names() if name not in ours)
        others = (Dataset(self.folder.child(name)) for name in names)
        return [self.crawldb, *(other for other in others if other.is_begun())]

    def require_crawldb(self) -> Snapshot:
        """The CrawlDb's current state, or one line saying how to get one."""
        snapshot = self.crawldb.current()
        if snapshot is None:
            raise NoSnapshot(
                f"{self.address} has no CrawlDb yet: start it with"
                f" `{command('inject', self.address, 'SEEDS')}`"
            )
        return snapshot

    def require_timeline(self) -> Timeline:
        """The CrawlDb's snapshots, also where the current one is damaged."""
        timeline = self.crawldb.timeline()
        if not timeline.numbers:
            self.require_crawldb()
        return timeline

    def reading(self, read: Callable[[Snapshot], Result], number: int | None = None) -> Result:
        """What `read` makes of the CrawlDb's current state (see `Dataset.reading`), or of the
        snapshot of that number."""
        if number is None:
            return self.crawldb.reading(self.require_crawldb, read)
        self.require_timeline()
        return read(self.crawldb.snapshot(number))

    def require_writable(self) -> None:
        """Raises StorageError where nothing can be written, before time is spent on it."""
        self.folder.require_writable(self.address)

    @property
    def fetching_folder(self) -> Folder:
        """Holds nothing but the lock of whoever sends requests."""
        return self.folder.child(_FETCHING)

    def fetching(
        self, command: str, config: Config, clock: Clock, *, steal_lock: bool = False
    ) -> AbstractContextManager[Lock]:
        """The right to send requests, which one command of a crawl has at a time: two of them
        would ask a host twice as often as it may be asked."""
        return locked(self.fetching_folder, command, config, clock, steal_lock=steal_lock)

    def serving_folders(self) -> list[Folder]:
        """Those of all services that are at work, or have left something."""
        folder = self.folder.child(SERVING)
        if folder.read_anew(SERVED) is None:
            return []
        return [folder.child(name) for name in folder.names() if name != SERVED]

    def remove_dead_locks(
        self, segments: Iterable[Segment], command: str, config: Config, clock: Clock
    ) -> list[str]:
        """Removes the locks of fetches and parses of these segments that died when all was
        published: nobody is going to take them. What they left half copied is mended. A line of
        each."""
        stale_ms = lock_timing(config)["stale_after_ms"]
        lines = [remove_if_dead(self.fetching_folder, command, clock, stale_after_ms=stale_ms)]
        for segment in segments:
            if is_left_by_dead(segment.folder, clock, stale_after_ms=stale_ms):
                with suppress(Locked), locked(segment.folder, command, config, clock) as lock:
                    segment.held_by(lock)
                    lines.append(lock.took_over)
        return [line for line in lines if line]

    def lock_folders(self) -> list[Folder]:
        """Every folder that may have a lock."""
        names = self.segments.folder.names()
        return [
            *(dataset.folder for dataset in self.datasets()),
            self.fetching_folder,
            *self.serving_folders(),
            *(self.segments.segment(name).folder for name in names),
        ]

    def writing(
        self,
        dataset: Dataset,
        command: str,
        config: Config,
        clock: Clock,
        **options: Unpack[WriteOptions],
    ) -> AbstractContextManager[Transaction]:
        """Locks a dataset and lets a block publish. `damaged`: also where the current state
        cannot be read. The CrawlDb has a way of its own, `writing_crawldb`."""
        return dataset.writing(command, clock, **lock_timing(config), **options)

    @contextmanager
    def writing_crawldb(
        self, command: str, config: Config, clock: Clock, **options: Unpack[WriteOptions]
    ) -> Iterator[Transaction]:
        """Locks the CrawlDb, mends what a crash left, and lets a block publish. `damaged`: also
        where the current state cannot be read."""
        with self.writing(self.crawldb, command, config, clock, **options) as transaction:
            if transaction.base is not None:
                self.segments.complete(transaction.base.notes.get("segments", {}))
            yield transaction
