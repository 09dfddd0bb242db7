"""Which tables the format `nutria` reads, and in which files their rows are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from crawl.did_you_mean import did_you_mean
from crawl.errors import UsageError
from crawl.model.derived_tables import HOSTDB
from crawl.model.table import Column, Table
from crawl.model.tables import CRAWLDB, HOSTS
from crawl.spark.pushdown import conditions_of
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.folder import Folder
from crawl.storage.hostdb import require_hostdb
from crawl.storage.layout import bucket_of
from crawl.storage.manifest import BucketFile
from crawl.storage.scan import ROW, Condition, filter_rows, require_column, with_status_names
from crawl.storage.segments import FETCH_HOSTS, SEGMENT_TABLES
from crawl.urls.parse import host_of

BUCKET = "_bucket"
SEGMENT = "segment"

CRAWLDB_COLUMNS = with_status_names(CRAWLDB)
"""The columns of the CrawlDb as a condition sees them."""


def _extended(table: Table, *more: Column) -> Table:
    """The table as it is read here, with columns that are not stored."""
    return Table(table.name.removeprefix("crawl_"), (*with_status_names(table).columns, *more))


_ROW = Column(ROW, pa.int64(), "its place in the bucket")
_CRAWLDB = _extended(CRAWLDB, Column(BUCKET, pa.int32(), "the record's bucket"), _ROW)
_HOSTDB = _extended(HOSTDB, Column(BUCKET, pa.int32(), "the host's bucket"), _ROW)
_SEGMENT = Column(SEGMENT, pa.string(), "the segment that the row is from")
_SEGMENT_TABLES = {part: _extended(table, _SEGMENT) for part, table in SEGMENT_TABLES.items()}
_PARTS = {table.name: part for part, table in _SEGMENT_TABLES.items()}
TABLES = {table.name: table for table in (_CRAWLDB, HOSTS, _HOSTDB, *_SEGMENT_TABLES.values())}
"""Every table that can be read, by the name that `option("table", …)` takes."""

_OPTIONS = ("path", "table", "segment", "snapshot", "columns", "where")


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """The options of one read."""

    address: str
    table: Table
    selection: Table
    """The table with the wanted columns alone."""
    segment: str | None
    snapshot: int | None
    conditions: tuple[Condition, ...] = ()

    @classmethod
    def of(cls, options: Mapping[str, str]) -> SourceOptions:
        """Checks the options; raises UsageError for what cannot be meant."""
        for name in options:
            if name.lower() not in _OPTIONS:
                near = did_you_mean(name.lower(), _OPTIONS)
                raise UsageError(f"the format nutria has no option {name!r}{near}")
        address = options.get("path")
        if not address:
            raise UsageError("give the crawl's folder: .load('mycrawl')")
        table = _table_of(options.get("table", "crawldb"))
        segment, snapshot = options.get("segment"), options.get("snapshot")
        if segment is not None and table.name not in _PARTS:
            raise UsageError(f"the table {table.name} belongs to no segment: leave `segment` out")
        if snapshot is not None and table.name in _PARTS:
            raise UsageError(f"segments have no snapshots: leave `snapshot` out for {table.name}")
        return cls(
            address,
            table,
            _choose_columns(table, options.get("columns")),
            segment,
            None if snapshot is None else _number_of(snapshot),
            conditions_of(options.get("where", "[]"), table),
        )


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file of a table, and the values that all its rows have without storing them."""

    folder: Folder
    path: str
    constants: dict[str, Any] = field(default_factory=dict)
    first_row: int = 0
    """The number of its first row in the bucket."""


@dataclass(frozen=True, slots=True)
class SourceFiles:
    """The files of a table."""

    table: Table
    files: tuple[SourceFile, ...]
    buckets: int = 0
    """How many buckets they are sorted into by host; 0 where they are not."""

    def matching(self, conditions: Sequence[Condition]) -> list[SourceFile]:
        """The files that may have rows for which all conditions hold, by their buckets and
        segments alone."""
        buckets = _buckets_of(conditions, self.buckets) if self.buckets else None
        files = []
        for file in self.files:
            if buckets is not None and file.constants[BUCKET] not in buckets:
                continue
            about = [each for each in conditions if each[0] in file.constants]
            one_row = pa.table({name: [value] for name, value in file.constants.items()})
            if not about or filter_rows(one_row, about).num_rows:
                files.append(file)
        return files


def open_files(options: SourceOptions) -> SourceFiles:
    """The files of the wanted table as they are now."""
    directory = CrawlDir(options.address)
    part = _PARTS.get(options.table.name)
    if part is not None:
        return SourceFiles(options.table, tuple(_segment_files(directory, part, options.segment)))
    if options.table is _HOSTDB:
        dataset, snapshot = directory.dataset(HOSTDB), require_hostdb(directory)
    else:
        dataset, snapshot = directory.crawldb, directory.require_crawldb()
    if options.snapshot is not None:
        snapshot = dataset.snapshot(options.snapshot)
    files = snapshot.hosts if options.table is HOSTS else snapshot.files
    stored = tuple(_bucket_files(dataset.folder, files))
    return SourceFiles(options.table, stored, snapshot.buckets)


def _bucket_files(folder: Folder, files: Iterable[BucketFile]) -> Iterable[SourceFile]:
    first_row: Counter[int] = Counter()
    for file in files:
        yield SourceFile(folder, file.path, {BUCKET: file.bucket}, first_row[file.bucket])
        first_row[file.bucket] += file.rows


def _segment_files(
    directory: CrawlDir, part: str, segment_name: str | None
) -> Iterable[SourceFile]:
    segments = directory.segments.generated()
    if segment_name is None:
        directory.require_crawldb()
    else:
        names = [segment.name for segment in segments]
        if segment_name not in names:
            near = did_you_mean(segment_name, names)
            raise UsageError(f"{directory.address} has no segment {segment_name}{near}")
        segments = [directory.segments.segment(segment_name)]
        if part != FETCH_HOSTS:  # which is there only where hosts failed
            segments[0].require(part)
    for segment in segments:
        manifest = segment.manifest(part)
        for file in manifest.files if manifest else ():
            yield SourceFile(segment.part_folder(part), file.path, {SEGMENT: segment.name})


def _buckets_of(conditions: Iterable[Condition], buckets: int) -> set[int] | None:
    """The buckets that rows with these URLs and hosts are in; None for all."""
    common: set[int] | None = None
    for column, sign, value in conditions:
        if column not in ("url", "host") or sign not in ("=", "in"):
            continue
        values = [value] if sign == "=" else value
        hosts = [host_of(url) or "" for url in values] if column == "url" else values
        of_condition = {bucket_of(host, buckets) for host in hosts}
        common = of_condition if common is None else common & of_condition
    return common


def _table_of(name: str) -> Table:
    table = TABLES.get(name) or _SEGMENT_TABLES.get(name)
    if table is None:
        near = did_you_mean(name, [*TABLES, *_SEGMENT_TABLES])
        names = ", ".join(TABLES)
        raise UsageError(f"a crawl has no table {name!r}{near}; tables: {names}")
    return table


def _choose_columns(table: Table, names: str | None) -> Table:
    if names is None:
        return table
    by_name = {column.name: column for column in table.columns}
    columns = []
    for name in (each.strip() for each in names.split(",")):
        require_column(name, by_name, table.name)
        columns.append(by_name[name])
    return Table(table.name, tuple(columns))


def _number_of(snapshot: str) -> int:
    try:
        return int(snapshot)
    except ValueError:
        raise UsageError(f"snapshot {snapshot!r} is no number") from None
