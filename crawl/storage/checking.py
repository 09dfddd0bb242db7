"""Finds what is damaged in a crawl, as values: every pointer, manifest, mark and table file.

By default a table file is judged by its size, its footer and its row count, which takes a
few reads a file; `deep` reads every page and also looks at the order of the rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from crawl.errors import DamagedFile, StorageError
from crawl.model.derived_tables import ATTACHED
from crawl.model.table import Table
from crawl.model.tables import CRAWLDB, HOSTS
from crawl.storage import segments
from crawl.storage.chunks import CHUNKS, Chunk, Piece, is_mark, lost_last_mark, mark_name
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.folder import Folder
from crawl.storage.footer import verify_data
from crawl.storage.layout import buckets_of
from crawl.storage.manifest import BucketFile, Snapshot
from crawl.storage.parquet import MISSING, StoredTable, each_group
from crawl.storage.sealed import bears_seal, unseal
from crawl.storage.sealed_file import SealedCopy, SealedFile
from crawl.storage.segments import PartFile, PartManifest, Segment
from crawl.storage.snapshot import CURRENT, REPORT, SNAPSHOTS, Dataset

STALE_COPY = "a command was killed before it had copied the file that it wrote"
_THREADS = 8
_LOOKS = 3


@dataclass(frozen=True, slots=True)
class CheckFault:
    """One thing that is not as it was written."""

    path: str
    """Relative to the crawl's folder."""
    fault: str


@dataclass(slots=True)
class CheckProgress:
    """How far a check is; read by others while it runs."""

    done: int = 0
    total: int = 0

    @property
    def pace(self) -> str:
        return "files"

    @property
    def remaining(self) -> str:
        return ""

    def __str__(self) -> str:
        return f"{self.done:,} of {self.total:,} files"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What a check looked at and found."""

    faults: list[CheckFault]
    files: int
    rows: int
    """Of the table files that are whole."""
    leftovers: list[CheckFault] = field(default_factory=list)
    """What a command that was killed left undone: copies that are older than their files. That is
    no damage, and the next command that writes there mends it."""


@dataclass(frozen=True, slots=True)
class CheckedTable:
    """A table file, as what commits it tells of it."""

    folder: Folder
    stored: BucketFile | PartFile | Piece
    path: str
    table: Table
    buckets: int = 0
    """Of a dataset: how many it has."""
    end: str | None = None
    """Where there is another file behind it: that one's first value."""


@dataclass(slots=True)
class _Checking:
    directory: CrawlDir
    faults: list[CheckFault] = field(default_factory=list)
    leftovers: list[CheckFault] = field(default_factory=list)
    small: int = 0
    """Small files that were looked at."""
    tables: dict[str, CheckedTable] = field(default_factory=dict)

    def tell(self, path: str, fault: str) -> None:
        self.faults.append(CheckFault(path, fault))

    def sealed(self, file: SealedFile, where: str, *, is_required: bool) -> bool:
        """Looks at a file and its copy; whether one of them is whole."""
        copies = [self.state_of(file, name) for name in (file.name, file.copy)]
        contents = [each.content for each in copies if each.content is not None]
        is_former = contents and copies[1].raw is None and not bears_seal(copies[0].raw or b"")
        is_there = any(each.raw is not None or each.fault for each in copies)
        if is_former or not (is_there or is_required):
            return bool(contents)  # former releases made no copies
        for name, each in zip((file.name, file.copy), copies, strict=True):
            if each.content is None:
                self.tell(f"{where}/{name}", each.fault or "it is missing")
        if len(contents) == 2 and contents[0] != contents[1]:
            # both bear their seals: a writer was killed, or is at work, between the two
            self.leftovers.append(CheckFault(f"{where}/{file.copy}", STALE_COPY))
        return bool(contents)

    def state_of(self, file: SealedFile, name: str) -> SealedCopy:
        self.small += 1
        try:
            return file.state_of(name)
        except StorageError as error:
            return SealedCopy(None, None, str(error))

    def report(self, folder: Folder, name: str, where: str) -> None:
        self.small += 1
        try:
            raw = folder.read(name)
            if raw is not None:
                unseal(raw)
        except (ValueError, StorageError) as error:
            self.tell(f"{where}/{name}", str(error))

    def dataset(self, dataset: Dataset) -> None:
        where = dataset.name
        manifests = dataset.manifests()
        self.sealed(dataset.pointer, where, is_required=bool(manifests))
        try:
            numbers = dataset.timeline().numbers
        except StorageError as error:
            self.tell(where, str(error))
            numbers = tuple(manifests)
        for number in numbers:
            self.sealed(dataset.manifest_file(number), where, is_required=True)
            self.report(dataset.folder, f"{SNAPSHOTS}/{number:06d}/{REPORT}", where)
            snapshot = self.snapshot(dataset, number)
            for file in files_of(dataset, snapshot) if snapshot else ():
                self.tables[file.path] = file

    def snapshot(self, dataset: Dataset, number: int) -> Snapshot | None:
        try:
            return dataset.snapshot(number)
        except StorageError as error:
            self.tell(f"{dataset.name}/{SNAPSHOTS}/{number:06d}", str(error))
            return None

    def segment(self, segment: Segment) -> None:
        where = f"segments/{segment.name}"
        self.sealed(segment.pointer, where, is_required=False)
        for part in segments.FETCHED:
            self.sealed(segment.manifest_file(part), where, is_required=False)
        for part in (*segments.FETCHED, *segments.PARSED):
            if part in (segments.GENERATE, segments.FETCH, segments.PARSE):
                self.report(segment.folder, f"{part}/{REPORT}", where)
            try:
                manifest = segment.manifest(part)
            except StorageError as error:
                if part not in segments.PARSED[1:]:  # told of crawl_parse
                    self.tell(f"{where}/{part}", str(error))
                continue
            for file in manifest.files if manifest else ():
                self.table(segment, part, file)
        if not is_fetched(segment):
            for number in parts_begun(segment):
                self.marks(segment, number)

    def marks(self, segment: Segment, part: int) -> None:
        for path, chunk, fault in chunk_marks(segment, part):
            self.small += 1
            if fault:
                self.tell(f"segments/{segment.name}/{path}", fault)
            for table, piece in chunk.all_pieces.items() if chunk else ():
                self.table(segment, table, piece)

    def table(self, segment: Segment, part: str, file: PartFile | Piece) -> None:
        path = f"segments/{segment.name}/{part}/{file.path}"
        kind = segments.SEGMENT_TABLES.get(part, CRAWLDB)
        self.tables[path] = CheckedTable(segment.part_folder(part), file, path, kind)


def check(
    directory: CrawlDir, *, deep: bool = False, progress: CheckProgress | None = None
) -> CheckResult:
    """Looks at the whole crawl and changes nothing. Where a writer published or forgot
    something meanwhile, what seems to be missing is looked for again."""
    for _ in range(_LOOKS):
        before = _pointers(directory)
        checked = _check(directory, progress or CheckProgress(), deep=deep)
        if not checked.faults or _pointers(directory) == before:
            break
    return checked


def _pointers(directory: CrawlDir) -> list[bytes | None]:
    return [dataset.pointer.state_of(CURRENT).raw for dataset in directory.datasets()]


def files_of(dataset: Dataset, snapshot: Snapshot) -> Iterator[CheckedTable]:
    """Every table file that the snapshot names."""
    table = dataset.table_of(snapshot)
    attached = (
        (files, ATTACHED.get(name, Table(name, ()))) for name, files in snapshot.attached.items()
    )
    for files, kind in ((snapshot.files, table), (snapshot.hosts, HOSTS), *attached):
        for file, behind in zip_longest(files, files[1:]):
            is_next = behind is not None and behind.bucket == file.bucket
            path, end = f"{dataset.name}/{file.path}", behind.first if is_next else None
            yield CheckedTable(dataset.folder, file, path, kind, snapshot.buckets, end)


def _check(directory: CrawlDir, progress: CheckProgress, *, deep: bool) -> CheckResult:
    checking = _Checking(directory)
    for dataset in directory.datasets():
        checking.dataset(dataset)
    for name in directory.segments.folder.names():
        checking.segment(directory.segments.segment(name))
    progress.done, progress.total = 0, len(checking.tables)
    rows = 0

    def judged(file: CheckedTable) -> str:
        try:
            return fault_of(file, deep=deep)
        finally:
            progress.done += 1

    with ThreadPoolExecutor(_THREADS) as pool:
        files = list(checking.tables.values())
        for file, fault in zip(files, pool.map(judged, files), strict=True):
            if fault:
                checking.tell(file.path, fault)
            else:
                rows += file.stored.rows
    files_seen = checking.small + len(checking.tables)
    return CheckResult(checking.faults, files_seen, rows, checking.leftovers)


def fault_of(file: CheckedTable, *, deep: bool = False) -> str:
    """What is wrong with a table file; empty where nothing is."""
    try:
        size = file.folder.size(file.stored.path)
        if size is None:
            return MISSING
        if size != file.stored.bytes:
            return f"it has {size:,} bytes and should have {file.stored.bytes:,}"
        with file.folder.open_read(file.stored.path) as stream:
            source = StoredTable(stream, file.path)
            fault = _fault_of_footer(source, file)
            if fault or not deep:
                return fault
            verify_data(stream, source.metadata)
            return _fault_of_rows(source, file)
    except DamagedFile as error:
        place = error.path.removeprefix(file.path).removeprefix(", ")
        return f"{place}: {error.fault}" if place else error.fault
    except (StorageError, ValueError) as error:
        return str(error).removeprefix(f"{file.path} ")


def _fault_of_footer(source: StoredTable, file: CheckedTable) -> str:
    if source.metadata.num_rows != file.stored.rows:
        return f"it has {source.metadata.num_rows:,} rows and should have {file.stored.rows:,}"
    schema, expected = source.schema_arrow, file.table.schema
    for key in file.table.key or expected.names[:1]:
        if key not in schema.names:
            return f"it has no column {key}"
    for name in set(schema.names) & set(expected.names):
        if schema.field(name).type != expected.field(name).type:
            return f"its column {name} is of the type {schema.field(name).type}"
    return ""


def _fault_of_rows(source: StoredTable, file: CheckedTable) -> str:
    key, bucket_by, stored = file.table.key, file.table.bucket_by, file.stored
    last: pa.Table | None = None
    for group, rows in enumerate(each_group(source)):
        if not isinstance(stored, BucketFile) or rows.num_rows == 0 or not key:
            continue
        keys = rows.select(list(key))
        joined = keys if last is None else pa.concat_tables([last, keys])
        if last is None and stored.first is not None and keys[key[0]][0].as_py() != stored.first:
            return f"it should begin with {stored.first!r}"
        if not _is_sorted([joined[name].combine_chunks() for name in key]):
            return f"row group {group}: {_KEYS.get(key[0], 'rows')} are not in order, or twice"
        last = keys.slice(keys.num_rows - 1)
        if bucket_by and not (buckets_of(rows[bucket_by], file.buckets) == stored.bucket).all():
            return f"row group {group}: there are {_KEYS.get(bucket_by, 'rows')} of another bucket"
    if (
        last is None
        or file.end is None
        or str(last[key[0]][0].as_py()).encode() < file.end.encode()
    ):
        return ""
    return f"there are {_KEYS.get(key[0], 'rows')} of the bucket's next file"


_KEYS = {"url": "URLs", "host": "hosts", "host_rev": "hosts"}
"""What a person calls the values of a key column."""


def _is_sorted(columns: list[pa.Array[Any]]) -> bool:
    """Whether each row's key is greater than the one before it."""
    rises: Any = None
    for column in reversed(columns):
        if pa.types.is_string(column.type):
            column = column.cast(pa.binary())  # as bytes, which is the order of the file
        before, after = column.slice(0, len(column) - 1), column.slice(1)
        rises_here = pc.less(before, after)
        if rises is None:
            rises = rises_here
        else:
            rises = pc.or_(rises_here, pc.and_(pc.equal(before, after), rises))
    return bool(pc.all(rises, min_count=0).as_py())


def is_fetched(segment: Segment) -> bool:
    """Whether the fetch is complete, so that marks of chunks do not matter any more."""
    manifest = whole_manifest(segment, segments.FETCH)
    return manifest is not None and manifest.complete


def whole_manifest(segment: Segment, part: str) -> PartManifest | None:
    """A part's manifest; None where there is none that can be read."""
    with suppress(StorageError):
        return segment.manifest(part)
    return None


def parts_begun(segment: Segment) -> list[int]:
    """The parts of the fetch list that have marks."""
    names = segment.folder.names(CHUNKS)
    numbers = [name.removeprefix("part-") for name in names]
    return sorted(int(number) for number in numbers if number.isdecimal())


def chunk_marks(segment: Segment, part: int) -> Iterator[tuple[str, Chunk | None, str]]:
    """(path in the segment, what it commits, what is wrong with it) of every mark."""
    place = f"{CHUNKS}/part-{part:05d}"
    expected = 0
    for name in sorted(filter(is_mark, segment.folder.names(place))):
        number = int(name.removesuffix(".json"))
        if number > expected:
            yield f"{place}/{mark_name(expected)}", None, "it is missing, and there are later ones"
        expected = number + 1
        try:
            raw = segment.folder.read(f"{place}/{name}") or b""
            yield f"{place}/{name}", Chunk.of_dict(unseal(raw)), ""
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            yield f"{place}/{name}", None, str(error)
    lost = lost_last_mark(segment.folder.child(place))
    if lost is not None and lost[0] >= mark_name(expected):
        yield f"{place}/{lost[0]}", None, lost[2]
