"""A snapshot by its manifest: which files are the state, and what was committed with them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

APPLIED = "applied"
"""The note that every later snapshot has from the one before it: which segments the table
has taken in, and the snapshot in which it did. A rollback forgets with the rows."""


SORTED_BY = "table"
"""The note that tells the key and the bucket column of a table other than the CrawlDb: it can
be checked by whoever knows nothing else of it."""


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
    def all_files(self) -> tuple[BucketFile, ...]:
        """Of URLs and of hosts."""
        return (*self.files, *self.hosts)

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    @property
    def bytes(self) -> int:
        return sum(file.bytes for file in self.files)

    @classmethod
    def of_dict(cls, content: Mapping[str, Any]) -> Snapshot:
        """Raises TypeError, ValueError or KeyError for what cannot be a snapshot."""
        files = tuple(BucketFile(**file) for file in content["files"])
        hosts = tuple(BucketFile(**file) for file in content.get("hosts", ()))
        found = cls(**{**content, "files": files, "hosts": hosts})
        counts = [found.number, found.buckets, found.created_ms]
        for file in found.all_files:
            counts += [file.bucket, file.rows, file.bytes]
        if any(type(count) is not int or count < 0 for count in counts):
            raise ValueError("a number in it is none")
        if any(file.bucket >= found.buckets for file in found.all_files):
            raise ValueError("it has more buckets than it says")
        return found

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
