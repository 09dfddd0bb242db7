"""Snapshots of a bucketed table: what a reader sees, and how a writer publishes.

    DATASET/CURRENT                      which snapshot is current, which ones are kept
    DATASET/snapshots/000007/manifest.json, report.json, part-00003-1f2e3d4c.parquet …
    DATASET/scratch/                     files between the steps of a running job

A snapshot is its manifest: a list of files, one a bucket. A bucket that a job did not
touch is named again, not copied, so small changes to a large table are cheap. File
names are new for every attempt of every task, so that nothing is ever overwritten and
what a killed job left behind can never be mistaken for state; the next writer sweeps it
away.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

from crawl.clock import Clock
from crawl.errors import NoSnapshot, StorageError
from crawl.model.report import Report
from crawl.storage.folder import Folder
from crawl.storage.lock import Lock, held
from crawl.storage.pointer import Pointer

MANIFEST = "manifest.json"
REPORT = "report.json"
SNAPSHOTS = "snapshots"
SCRATCH = "scratch"
APPLIED = "applied"
"""The note that every later snapshot has from the one before it: which segments the table
has taken in, and the snapshot in which it did. A rollback forgets with the rows."""


@dataclass(frozen=True, slots=True)
class BucketFile:
    """The one file of a bucket; its path is relative to the dataset."""

    bucket: int
    path: str
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One state of the table. Buckets without a row have no file."""

    number: int
    buckets: int
    files: tuple[BucketFile, ...]
    created_ms: int
    phase: str
    notes: dict[str, Any] = field(default_factory=dict)
    """What else was committed together with this state (see segments)."""
    hosts: tuple[BucketFile, ...] = ()
    """What is known of hosts as such, a file a bucket, where there is anything to know."""

    @property
    def applied(self) -> dict[str, int]:
        """The segments that this state contains, each with the snapshot that brought it."""
        found: dict[str, int] = self.notes.get(APPLIED, {})
        return found

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    @property
    def bytes(self) -> int:
        return sum(file.bytes for file in self.files)

    def file_of(self, bucket: int) -> BucketFile | None:
        return next((file for file in self.files if file.bucket == bucket), None)

    def hosts_of(self, bucket: int) -> BucketFile | None:
        return next((file for file in self.hosts if file.bucket == bucket), None)

    def replacing(
        self, written: Iterable[BucketFile], rewritten: Iterable[int]
    ) -> list[BucketFile]:
        """This state's files with the rewritten buckets' files exchanged."""
        gone = set(rewritten)
        kept = [file for file in self.files if file.bucket not in gone]
        return sorted([*kept, *written], key=lambda file: file.bucket)


@dataclass(frozen=True, slots=True)
class Timeline:
    """Which snapshots are kept, the most recently current one last."""

    numbers: tuple[int, ...] = ()
    next_number: int = 1

    @property
    def current(self) -> int | None:
        return self.numbers[-1] if self.numbers else None


class Dataset:
    """A bucketed, snapshotted table in one folder."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self._pointer = Pointer(folder, "CURRENT")

    def timeline(self) -> Timeline:
        content = self._pointer.read()
        if content is None:
            return Timeline()
        return Timeline(tuple(content["snapshots"]), content["next"])

    def current(self) -> Snapshot | None:
        """The state that readers see; None where nothing was published yet."""
        number = self.timeline().current
        return None if number is None else self.snapshot(number)

    def require_current(self) -> Snapshot:
        snapshot = self.current()
        if snapshot is None:
            raise NoSnapshot(f"{self.folder.address}: nothing here yet")
        return snapshot

    def snapshot(self, number: int) -> Snapshot:
        raw = self.folder.read(f"{_place(number)}/{MANIFEST}")
        if raw is None:
            raise NoSnapshot(f"{self.folder.address}: there is no snapshot {number}")
        try:
            content = json.loads(raw)
            content["files"] = tuple(BucketFile(**file) for file in content["files"])
            content["hosts"] = tuple(BucketFile(**file) for file in content.get("hosts", ()))
            return Snapshot(**content)
        except (ValueError, TypeError, KeyError) as error:
            raise StorageError(
                f"{self.folder.path(_place(number))}/{MANIFEST} is damaged: {error}"
            ) from error

    def report(self, number: int) -> dict[str, Any]:
        raw = self.folder.read(f"{_place(number)}/{REPORT}")
        content: dict[str, Any] = json.loads(raw) if raw else {}
        return content

    @contextmanager
    def writing(
        self,
        command: str,
        clock: Clock,
        *,
        stale_after_ms: float,
        heartbeat_s: float,
        force: bool = False,
    ) -> Iterator[Transaction]:
        """Locks the dataset for a block that may publish one new snapshot."""
        with held(
            self.folder,
            command,
            clock,
            stale_after_ms=stale_after_ms,
            heartbeat_s=heartbeat_s,
            force=force,
        ) as lock:
            transaction = Transaction(self, lock, clock)
            transaction.sweep()
            try:
                yield transaction
            finally:
                # only its own: if the lock was forced away, the rest is its new owner's
                transaction.scratch.delete("")

    def _move(self, timeline: Timeline) -> None:
        self._pointer.write({"snapshots": list(timeline.numbers), "next": timeline.next_number})


class Transaction:
    """The right to write a dataset, and the way to do it."""

    def __init__(self, dataset: Dataset, lock: Lock, clock: Clock) -> None:
        self._dataset = dataset
        self._clock = clock
        self.lock = lock
        self.timeline = dataset.timeline()
        self.base = None if self.timeline.current is None else dataset.current()
        self.number = self.timeline.next_number
        self.place = _place(self.number)
        """Where to write new bucket files, relative to the dataset."""
        self.scratch = dataset.folder.child(f"{SCRATCH}/{uuid.uuid4().hex[:8]}")
        """A folder for files between the steps of this job."""
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
    ) -> Snapshot:
        """Makes the files the current state; until its last small write nothing changed.
        `applying` names the segments that they have taken in beside those of the base;
        without `hosts` those of the base stay."""
        applied = self.base.applied if self.base else {}
        applied = {**applied, **dict.fromkeys(applying, self.number)}
        if applied:
            notes = {**(notes or {}), APPLIED: applied}
            report.details["contains"] = sorted(applied)
        snapshot = Snapshot(
            number=self.number,
            buckets=buckets,
            files=tuple(files),
            created_ms=self._clock.now_ms(),
            phase=report.phase,
            notes=notes or {},
            hosts=tuple((self.base.hosts if self.base else ()) if hosts is None else hosts),
        )
        folder = self._dataset.folder
        # the new owner of a lock that was forced away may have published this number
        self.lock.verify()
        folder.write(f"{self.place}/{REPORT}", report.as_json().encode())
        folder.write(f"{self.place}/{MANIFEST}", json.dumps(asdict(snapshot)).encode())
        self._move(Timeline((*self.timeline.numbers, self.number)[-keep:], self.number + 1))
        return snapshot

    def roll_back(self, number: int) -> Snapshot:
        """Makes an older (or a newer) kept snapshot the current one."""
        kept = self.timeline.numbers
        if number not in kept:
            listed = ", ".join(map(str, sorted(kept))) or "none"
            raise NoSnapshot(f"there is no snapshot {number} (kept: {listed})")
        others = tuple(other for other in kept if other != number)
        self._move(Timeline((*others, number), self.timeline.next_number))
        return self._dataset.snapshot(number)

    def keep_newest(self, keep: int) -> tuple[int, ...]:
        """Forgets all but the `keep` newest snapshots; returns the forgotten ones."""
        kept = self.timeline.numbers[-keep:]
        forgotten = tuple(number for number in self.timeline.numbers if number not in kept)
        if forgotten:
            self._move(Timeline(kept, self.timeline.next_number))
        return forgotten

    def sweep(self) -> None:
        """Deletes every file that no kept snapshot names."""
        folder = self._dataset.folder
        folder.delete(SCRATCH)
        folder.drop_uploads()
        named: set[str] = set()
        for number in self.timeline.numbers:
            snapshot = self._dataset.snapshot(number)
            named.update(file.path for file in (*snapshot.files, *snapshot.hosts))
            named.update({f"{_place(number)}/{MANIFEST}", f"{_place(number)}/{REPORT}"})
        files = [f"{SNAPSHOTS}/{name}" for name in folder.files(SNAPSHOTS)]
        stray = [path for path in files if path not in named]
        for path in stray:
            folder.delete(path)
        # a local disk keeps the empty folder of a forgotten snapshot
        used = {path.split("/")[1] for path in named}
        for name in folder.names(SNAPSHOTS):
            if name not in used:
                folder.delete(f"{SNAPSHOTS}/{name}")
        self.swept += len(stray)

    def _move(self, timeline: Timeline) -> None:
        self.lock.verify()
        self._dataset._move(timeline)
        self.timeline = timeline
        self.sweep()


def _place(number: int) -> str:
    return f"{SNAPSHOTS}/{number:06d}"
