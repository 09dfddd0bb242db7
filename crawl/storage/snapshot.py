"""Snapshots of a bucketed table: what a reader sees, and how a writer publishes.

    DATASET/CURRENT                      which snapshot is current, which ones are kept
    DATASET/snapshots/000007/manifest.json, report.json, part-00003-1f2e3d4c.parquet …
    DATASET/scratch/                     files between the steps of a running job

(CURRENT and manifest.json each have a copy beside them, see sealed_file.py.)

A snapshot is its manifest: a list of files, one a bucket, or several of a large one. A file
that a job did not touch is named again, not copied, so small changes to a large table are
cheap. File names are new for every attempt of every task, so that nothing is ever overwritten
and what a killed job left behind can never be mistaken for state; the next writer sweeps it
away. It sweeps nothing that a damaged manifest may name, and where there are snapshots but
no pointer that can be read it does not write at all: CURRENT is there before the first
manifest is.

A writer that lost its lock while it slept harms nobody. Its CURRENT is refused (lock.py). The
number of its snapshot is nobody else's: whoever takes a lock over skips one, which also makes
CURRENT another version of itself. And it deletes only what it had listed before it last saw that
the lock was its own, when its successor had not written anything yet.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, TypedDict, TypeVar, Unpack

from crawl.clock import Clock
from crawl.errors import DamagedFile, Locked, NoSnapshot, StorageError
from crawl.model.report import Report
from crawl.model.table import Table
from crawl.model.tables import CRAWLDB
from crawl.storage.filesystems.fences import FencedOff
from crawl.storage.folder import Folder
from crawl.storage.lock import Lock, LockTiming, hold_lock
from crawl.storage.manifest import APPLIED, SORTED_BY, BucketFile, Snapshot, Timeline, in_order
from crawl.storage.reading import LOOKS, read_while_kept
from crawl.storage.reports import read_report, write_report
from crawl.storage.sealed_file import SealedFile

CURRENT = "CURRENT"
MANIFEST = "manifest.json"
REPORT = "report.json"
SNAPSHOTS = "snapshots"
SCRATCH = "scratch"

Result = TypeVar("Result")

_log = logging.getLogger(__name__)


class WriteOptions(TypedDict, total=False):
    """How a dataset is locked for a writer; `damaged`: also where its current state cannot be
    read."""

    steal_lock: bool
    damaged: bool


class Dataset:
    """A bucketed, snapshotted table in one folder."""

    def __init__(self, folder: Folder, table: Table | None = None) -> None:
        self.folder = folder
        self.table = table
        """None where only a snapshot's manifest tells what the rows are."""
        self.pointer = SealedFile(folder, CURRENT, unsealed=False)

    def timeline(self, pointer: SealedFile | None = None) -> Timeline:
        """Which snapshots there are; raises StorageError where there are some and what tells
        of them is damaged or gone. `pointer` is that of the holder of the lock."""
        pointer = pointer or self.pointer
        try:
            content, is_copy = pointer.look()
        except DamagedFile as error:
            raise self._without_pointer(f"is damaged ({error.fault})") from error
        if content is None:
            if self.manifests():
                raise self._without_pointer("is gone")
            return Timeline()
        try:
            timeline = Timeline(tuple(map(int, content["snapshots"])), int(content["next"]))
        except (KeyError, TypeError, ValueError) as error:
            raise self._without_pointer("says nothing of snapshots") from error
        if is_copy:
            later = [number for number in self.manifests() if number >= timeline.next_number]
            if any(map(self.is_whole, later)):
                raise self._without_pointer("is damaged, and its copy is older")
            pointer.warn_of_copy()
        return timeline

    def _without_pointer(self, what: str) -> StorageError:
        numbers = ", ".join(map(str, self.manifests())) or "none"
        return StorageError(
            f"{self.folder.path(CURRENT)} {what} (snapshots that are there: {numbers});"
            " nothing is written here until `crawl check CRAWL_DIR --repair` has brought back the"
            " newest whole one"
        )

    def manifests(self) -> list[int]:
        """The numbers of all snapshots that have a manifest, damaged or whole, kept or not."""
        names = {
            path.partition("/")[0] for path in self.folder.files(SNAPSHOTS) if MANIFEST in path
        }
        return sorted(int(name) for name in names if name.isdecimal())

    def is_begun(self) -> bool:
        """Whether there is anything of a dataset in the folder, be it what the first job left
        that was to publish it and was killed."""
        names = (self.pointer.name, self.pointer.copy, SNAPSHOTS, SCRATCH)
        return not set(names).isdisjoint(self.folder.names())

    def is_whole(self, number: int) -> bool:
        """Whether the snapshot's manifest can be read; its files are not looked at."""
        try:
            self.snapshot(number)
        except StorageError:
            return False
        return True

    def current(self) -> Snapshot | None:
        """The state that readers see; None where nothing was published yet."""
        for _ in range(LOOKS):
            number = self.timeline().current
            try:
                return None if number is None else self.snapshot(number)
            except NoSnapshot:
                # forgotten between the two looks; or its manifest is gone
                if self.timeline().current == number:
                    raise
        return self.require_current()

    def is_kept(self, snapshot: Snapshot) -> bool:
        """Whether the state is still one of the dataset's: nobody deletes its files."""
        return snapshot.number in self.timeline().numbers

    def reading(
        self,
        require: Callable[[], Snapshot],
        read: Callable[[Snapshot], Result],
        begin_anew: Callable[[], object] = lambda: None,
    ) -> Result:
        """What `read` makes of the state that `require` finds. Readers take no lock: if that
        state was forgotten meanwhile, and files went with it (by a writer, or `crawl gc`), what
        it makes of the one that is current then. `begin_anew` removes what was written till
        then."""
        return read_while_kept(require, self.is_kept, read, begin_anew)

    def require_current(self) -> Snapshot:
        snapshot = self.current()
        if snapshot is None:
            raise NoSnapshot(f"{self.folder.address}: nothing here yet")
        return snapshot

    def manifest_file(self, number: int) -> SealedFile:
        return SealedFile(self.folder, f"{_place(number)}/{MANIFEST}")

    def snapshot(self, number: int) -> Snapshot:
        file = self.manifest_file(number)
        content = file.read()
        if content is None:
            raise NoSnapshot(f"{self.folder.address}: there is no snapshot {number}")
        try:
            snapshot = Snapshot.of_dict(content)
            if snapshot.number != number:
                raise ValueError(f"it is that of snapshot {snapshot.number}")
        except (ValueError, TypeError, KeyError) as error:
            raise DamagedFile(self.folder.path(file.name), str(error)) from error
        return snapshot

    def table_of(self, snapshot: Snapshot) -> Table:
        """The table that the snapshot is a state of: the dataset's own, or as far as the
        manifest tells of it."""
        if self.table is not None:
            return self.table
        note = snapshot.notes.get(SORTED_BY)
        note = note if isinstance(note, dict) else {}
        key = tuple(map(str, note.get("key", ())))
        return Table(self.name, (), key, str(note.get("bucket_by", "")))

    @property
    def name(self) -> str:
        """Of the dataset's folder in the crawl's."""
        return self.folder.address.rstrip("/").rpartition("/")[2]

    def missing_files(self, snapshot: Snapshot) -> list[str]:
        """Files of the snapshot that are not there, or not of their size."""
        there = self.folder.files(SNAPSHOTS)
        return [
            file.path
            for file in snapshot.all_files
            if there.get(file.path.removeprefix(f"{SNAPSHOTS}/")) != file.bytes
        ]

    def report(self, number: int) -> dict[str, Any]:
        return read_report(self.folder, f"{_place(number)}/{REPORT}")

    @contextmanager
    def writing(
        self,
        command: str,
        clock: Clock,
        *,
        steal_lock: bool = False,
        damaged: bool = False,
        **times: Unpack[LockTiming],
    ) -> Iterator[Transaction]:
        """Locks the dataset for a block that may publish one new snapshot. `damaged`: also
        where the current state cannot be read, for whoever chooses another."""
        with hold_lock(
            self.folder, command, clock, **times, steal_lock=steal_lock, shut_out=self.shut_out
        ) as lock:
            transaction = Transaction(self, lock, clock, damaged=damaged)
            transaction.pointer.heal()
            transaction.sweep()
            try:
                yield transaction
            finally:
                # only its own: if the lock was forced away, the rest is its new owner's
                transaction.scratch.delete("")

    def move(self, timeline: Timeline, pointer: SealedFile) -> None:
        """Makes these the kept snapshots. Only for the holder of the lock, by its pointer."""
        pointer.write({"snapshots": list(timeline.numbers), "next": timeline.next_number})

    def shut_out(self, folder: Folder) -> None:
        """Skips a number, for whoever is about to remove another's lock: that one may be writing
        the snapshot of that number, and be about to publish it."""
        for _ in range(LOOKS):
            pointer = self.pointer.guarded(folder)
            pointer.pin()
            try:
                timeline = self.timeline(pointer)
            except StorageError:
                return  # nothing can be published on it before it is repaired
            following = Timeline(timeline.numbers, timeline.next_number + 1)
            try:
                self.move(following, pointer)
                return
            except FencedOff:
                continue  # the other has published something at this very moment
        raise Locked(f"{self.folder.address} is locked: somebody is publishing there")


class Transaction:
    """The right to write a dataset, and the way to do it."""

    def __init__(
        self, dataset: Dataset, lock: Lock, clock: Clock, *, damaged: bool = False
    ) -> None:
        self._dataset = dataset
        self._clock = clock
        self.lock = lock
        self.pointer = dataset.pointer.guarded(lock.folder)
        """Writes if CURRENT is what it is now, and the lock is still ours."""
        self.timeline = dataset.timeline(self.pointer)
        self.base: Snapshot | None = None
        try:
            self.base = dataset.current()
        except StorageError:
            if not damaged:
                raise
        self.number = self.timeline.next_number
        self.place = _place(self.number)
        """Where to write new bucket files, relative to the dataset."""
        self.scratch_place = f"{SCRATCH}/{uuid.uuid4().hex[:8]}"
        """Where files between the steps of this job go, relative to the dataset."""
        self.scratch = dataset.folder.child(self.scratch_place)
        self.swept = 0
        """Files deleted because no kept snapshot names them."""

    @property
    def folder(self) -> Folder:
        return self._dataset.folder

    def publish(
        self,
        files: Iterable[BucketFile],
        report: Report,
        *,
        buckets: int,
        keep: int,
        notes: dict[str, Any] | None = None,
        applying: Iterable[str] = (),
        hosts: Iterable[BucketFile] | None = None,
        attached: Mapping[str, Iterable[BucketFile]] | None = None,
    ) -> Snapshot:
        """Makes the files the current state; until its last small write nothing changed.
        `applying` names the segments that they have taken in beside those of the base;
        without `hosts` those of the base stay; `attached` are all files of further tables."""
        applied = self.base.applied if self.base else {}
        applied = {**applied, **dict.fromkeys(applying, self.number)}
        if applied:
            notes = {**(notes or {}), APPLIED: applied}
            report.details["contains"] = sorted(applied)
        table = self._dataset.table
        if table is not None and table is not CRAWLDB:
            notes = {
                **(notes or {}),
                SORTED_BY: {"key": list(table.key), "bucket_by": table.bucket_by},
            }
        snapshot = Snapshot(
            number=self.number,
            buckets=buckets,
            files=in_order(files),
            created_ms=self._clock.now_ms(),
            phase=report.phase,
            notes=notes or {},
            hosts=tuple((self.base.hosts if self.base else ()) if hosts is None else hosts),
            attached={name: in_order(some) for name, some in (attached or {}).items()},
        )
        # the new owner of a lock that was forced away may have published this number
        self.lock.verify()
        if not self.timeline.numbers:
            # before the first manifest: where there is one without a pointer, one was lost
            self._dataset.move(self.timeline, self.pointer)
        write_report(self.folder, f"{self.place}/{REPORT}", report)
        self._dataset.manifest_file(self.number).write(snapshot.as_dict())
        self._move(Timeline((*self.timeline.numbers, self.number)[-keep:], self.number + 1))
        return snapshot

    def roll_back(self, number: int) -> Snapshot:
        """Makes an older (or a newer) kept snapshot the current one."""
        numbers = self.timeline.numbers
        if number not in numbers:
            listed = ", ".join(map(str, sorted(numbers))) or "none"
            raise NoSnapshot(f"there is no snapshot {number} (kept: {listed})")
        snapshot = self._dataset.snapshot(number)
        missing = self._dataset.missing_files(snapshot)
        if missing:
            raise StorageError(
                f"snapshot {number} is not whole: {self.folder.path(missing[0])} is missing or cut"
            )
        others = tuple(other for other in numbers if other != number)
        self._move(Timeline((*others, number), self.timeline.next_number))
        return snapshot

    def keep_newest(self, keep: int) -> tuple[int, ...]:
        """Forgets all but the `keep` newest snapshots; returns the forgotten ones."""
        newest = self.timeline.numbers[-keep:]
        forgotten = tuple(number for number in self.timeline.numbers if number not in newest)
        if forgotten:
            self._move(Timeline(newest, self.timeline.next_number))
        return forgotten

    def sweep(self) -> None:
        """Deletes every file that no kept snapshot names. A damaged manifest may name any file
        that is as old as itself or older: those stay."""
        folder = self._dataset.folder
        named: set[str] = set()
        damaged: list[int] = []
        for number in self.timeline.numbers:
            try:
                named.update(file.path for file in self._dataset.snapshot(number).all_files)
            except StorageError as error:
                _log.warning("%s; no file that it may name is deleted", error)
                damaged.append(number)
            manifest = self._dataset.manifest_file(number)
            named.update({manifest.name, manifest.copy, f"{_place(number)}/{REPORT}"})
        spared = max(damaged, default=0)
        paths = [f"{SNAPSHOTS}/{name}" for name in folder.files(SNAPSHOTS)]
        stray = [path for path in paths if path not in named and _number_in(path) > spared]
        # a local disk keeps the empty folder of a forgotten snapshot
        used = {path.split("/")[1] for path in named}
        unused = [
            f"{SNAPSHOTS}/{name}"
            for name in folder.names(SNAPSHOTS)
            if name not in used and self._may_drop(name, spared)
        ]
        self.lock.verify()  # what a successor has written by now is on no list
        folder.delete(SCRATCH)
        folder.drop_uploads()
        folder.delete_files(stray)
        for place in unused:
            folder.delete(place)
        self.swept += len(stray)

    def _may_drop(self, name: str, spared: int) -> bool:
        """Whether a folder of snapshots can be deleted with all that is in it: it is not a
        successor's, whose numbers are higher."""
        number = _number_in(f"{SNAPSHOTS}/{name}")
        return number > spared and not self.number < number < float("inf")

    def _move(self, timeline: Timeline) -> None:
        self.lock.verify()
        self._dataset.move(timeline, self.pointer)
        self.timeline = timeline
        with suppress(Locked):  # it is published, and the rest is its successor's
            self.sweep()


def _place(number: int) -> str:
    return f"{SNAPSHOTS}/{number:06d}"


def _number_in(path: str) -> float:
    """The snapshot in whose folder a file is; beyond all of them where that is none."""
    name = path.split("/")[1]
    return int(name) if name.isdecimal() else float("inf")
