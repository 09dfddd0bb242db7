"""A snapshot by its manifest: which files are the state, and what was committed with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from typing import Any

APPLIED = "applied"
"""The note that every later snapshot has from the one before it: which segments the table
has taken in, and the snapshot in which it did. A rollback forgets with the rows."""


SORTED_BY = "table"
"""The note that tells the key and the bucket column of a table other than the CrawlDb: it can
be checked by whoever knows nothing else of it."""

LOOKED_AT = "looked_at"
"""The note of the index that names the CrawlDb's snapshot by which no page was kept out for
nothing."""
COUNTED_CRAWLDB = "crawldb"
"""The note of the HostDb that names the CrawlDb's snapshot whose records were counted."""
MADE_FROM_WEBGRAPH = "webgraph_snapshot"
"""The note of a graph of hosts or domains that names the link graph's snapshot."""

_FORMAT = "format"
_SEVERAL_FILES = 2
"""The format of a manifest in which a bucket has several files. Those before it say nothing of
formats, and their readers refuse what says anything."""


@dataclass(frozen=True, slots=True)
class BucketFile:
    """A file of a bucket, most often the only one; its path is relative to the dataset."""

    bucket: int
    path: str
    rows: int
    bytes: int
    first: str | None = None
    """Of one of several files of a bucket, which lie in the order of the key: the value that
    its first row has in the key's first column. All rows with a value are in one file."""


def in_order(files: Iterable[BucketFile]) -> tuple[BucketFile, ...]:
    """Files as a manifest names them: by bucket and key, and a bucket's only file without its
    first value. Raises ValueError where those of a bucket overlap."""
    ordered = sorted(files, key=_place)
    counts = Counter(file.bucket for file in ordered)
    for before, file in pairwise(ordered):
        if before.bucket == file.bucket and (
            before.first is None or file.first is None or _place(before) >= _place(file)
        ):
            raise ValueError(f"the files of bucket {file.bucket} are in no order")
    return tuple(
        file if file.first is None or counts[file.bucket] > 1 else replace(file, first=None)
        for file in ordered
    )


def _place(file: BucketFile) -> tuple[int, bytes]:
    """By which the files of a snapshot are sorted: text as its bytes, as in the files."""
    return file.bucket, (file.first or "").encode()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One state of the table. Buckets without a row have no file, and large ones several."""

    number: int
    buckets: int
    files: tuple[BucketFile, ...]
    created_ms: int
    phase: str
    notes: dict[str, Any] = field(default_factory=dict)
    """What else was committed together with this state (see segments)."""
    hosts: tuple[BucketFile, ...] = ()
    """What is known of hosts as such, a file a bucket, where there is anything to know."""
    attached: dict[str, tuple[BucketFile, ...]] = field(default_factory=dict)
    """Files of further tables that are one state with this one, by the table's name. Those of
    a table that is no table of buckets are numbered by what else their readers go by."""

    @property
    def applied(self) -> dict[str, int]:
        """The segments that this state contains, each with the snapshot that brought it."""
        segments: dict[str, int] = self.notes.get(APPLIED, {})
        return segments

    @property
    def all_files(self) -> tuple[BucketFile, ...]:
        """Of URLs, of hosts and of what is attached."""
        attached = (file for files in self.attached.values() for file in files)
        return (*self.files, *self.hosts, *attached)

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    @property
    def bytes(self) -> int:
        return sum(file.bytes for file in self.files)

    @classmethod
    def of_dict(cls, content: Mapping[str, Any]) -> Snapshot:
        """Raises TypeError, ValueError or KeyError for what cannot be a snapshot."""
        content = dict(content)
        if content.pop(_FORMAT, _SEVERAL_FILES) != _SEVERAL_FILES:
            raise ValueError("it was written by a later release")
        files = tuple(BucketFile(**file) for file in content["files"])
        hosts = tuple(BucketFile(**file) for file in content.get("hosts", ()))
        attached = {
            str(name): tuple(BucketFile(**file) for file in some)
            for name, some in dict(content.get("attached", {})).items()
        }
        snapshot = cls(**{**content, "files": files, "hosts": hosts, "attached": attached})
        counts = [snapshot.number, snapshot.buckets, snapshot.created_ms]
        for file in snapshot.all_files:
            counts += [file.bucket, file.rows, file.bytes]
        if any(type(count) is not int or count < 0 for count in counts):
            raise ValueError("a number in it is none")
        if any(file.bucket >= snapshot.buckets for file in (*files, *hosts)):
            raise ValueError("it has more buckets than it says")
        in_order(files)
        return snapshot

    def as_dict(self) -> dict[str, Any]:
        """As it is stored; what says nothing is left out."""
        content = asdict(self)
        attached = (file for files in content["attached"].values() for file in files)
        for file in (*content["files"], *content["hosts"], *attached):
            if file["first"] is None:
                del file["first"]
        if not self.attached:
            del content["attached"]
        if any(file.first is not None for file in self.files):
            content[_FORMAT] = _SEVERAL_FILES
        return content

    def files_of(self, bucket: int) -> tuple[BucketFile, ...]:
        """The files of a bucket, in the order of the key."""
        return tuple(file for file in self.files if file.bucket == bucket)

    def file_for(self, bucket: int, value: str) -> BucketFile | None:
        """The one file of a bucket that may have rows with a value in the key's first column."""
        files = self.files_of(bucket)
        encoded = value.encode("utf-8", "surrogatepass")
        below = [file for file in files if (file.first or "").encode() <= encoded]
        return below[-1] if below else next(iter(files), None)

    def hosts_of(self, bucket: int) -> BucketFile | None:
        return next((file for file in self.hosts if file.bucket == bucket), None)


@dataclass(frozen=True, slots=True)
class Timeline:
    """Which snapshots are kept, the most recently current one last."""

    numbers: tuple[int, ...] = ()
    next_number: int = 1

    @property
    def current(self) -> int | None:
        return self.numbers[-1] if self.numbers else None
