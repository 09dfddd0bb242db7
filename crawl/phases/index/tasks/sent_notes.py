"""What an index that keeps no files was sent: the URLs are noted beside the ledger before the first
of them is sent.

    CRAWL_DIR/index/solr/sent-1f2e3d4c-00008-00003-5a6b7c8d.parquet
                             job       shards  shard  attempt

A job that publishes its ledger deletes its notes. Those of a job that died are read by the next
one: of these URLs the server may have a document that the ledger does not know, another one than
the ledger says, or none. They become rows of the ledger without a digest, so that a document is
sent again whatever it is, and a stale one is deleted.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crawl.errors import StorageError
from crawl.model.arrow import as_array, fill_null
from crawl.model.derived_tables import INDEX
from crawl.phases.index.tasks.matching import beside_stored
from crawl.storage.folder import Folder
from crawl.storage.layout import buckets_of
from crawl.storage.parquet import each_group, open_table, open_writer
from crawl.tables.ranges import NewRows, StoredGroups
from crawl.urls.hosts import hosts_of

JOB = "job"
"""The note of a snapshot that names the job that published it."""
UNKNOWN = b""
"""The digest of a document of which nobody knows what the index has."""

_SENT = pa.schema([INDEX.schema.field("url"), INDEX.schema.field("version")])
_NAME = re.compile(r"sent-([0-9a-f]{8})-(\d{5})-(\d{5})-[0-9a-f]{8}\.parquet")


def new_job() -> str:
    """A name for a job that no other one shares."""
    return uuid.uuid4().hex[:8]


@dataclass(frozen=True, slots=True)
class SentNotes:
    """Notes of one writer, as a task writes them."""

    folder: Folder
    job: str
    shards: int
    number: int

    def write(self, rows: pa.Table) -> None:
        """Notes URLs and versions; it is stored when it returns."""
        name = f"sent-{self.job}-{self.shards:05d}-{self.number:05d}-{uuid.uuid4().hex[:8]}.parquet"
        with open_writer(self.folder, name, _SENT) as writer:
            writer.write(rows.select(_SENT.names).cast(_SENT))


def note_names(folder: Folder) -> list[str]:
    """The notes that are there."""
    return sorted(name for name in folder.names() if _NAME.fullmatch(name))


def job_of(name: str) -> str:
    """The job that wrote a note."""
    match = _NAME.fullmatch(name)
    return match[1] if match else ""


@dataclass(frozen=True, slots=True)
class UnsettledUrls:
    """What dead jobs may have sent of one shard."""

    folder: Folder
    names: tuple[str, ...]
    shards: int
    number: int

    @classmethod
    def of_shard(
        cls, folder: Folder, names: Sequence[str], shards: int, number: int
    ) -> UnsettledUrls | None:
        """Those that may concern a shard. The number of shards may have changed since, as long
        as nothing was ever published."""
        notes = tuple(name for name in names if _may_concern(name, shards, number))
        return cls(folder, notes, shards, number) if notes else None

    def tables(self) -> Iterator[pa.Table]:
        """URLs and versions, in no order, some of them twice."""
        for name in self.names:
            for rows in _read(self.folder, name):
                hosts = fill_null(hosts_of(as_array(rows["url"])), "")
                here = buckets_of(hosts, self.shards) == self.number
                yield rows.filter(pa.array(here)).cast(_SENT)

    def merged(self, stored: StoredGroups, writer: str) -> Iterator[pa.Table]:
        """The rows of a writer's ledger together with these URLs, in order."""
        for new in NewRows(_SENT, "url", self.tables).ranges():
            noted = _newest(new.rows)
            for group, beside in beside_stored(stored, new.end, noted, INDEX.schema):
                yield _joined(group, beside, writer)


def _read(folder: Folder, name: str) -> Iterator[pa.Table]:
    try:
        with open_table(folder, name) as source:
            yield from each_group(source)
    except StorageError as error:
        raise StorageError(
            f"{error}; it names documents that a job which died may have sent to a server: delete"
            " it, and `crawl index --rebuild` sends all anew; of pages that are gone since some may"
            " stay there"
        ) from error


def _may_concern(name: str, shards: int, number: int) -> bool:
    match = _NAME.fullmatch(name)
    return match is not None and (int(match[2]) != shards or int(match[3]) == number)


def _newest(rows: pa.Table) -> pa.Table:
    """Each URL once, in order, with the newest version."""
    grouped = rows.group_by("url").aggregate([("version", "max")]).sort_by("url")
    return pa.table({"url": as_array(grouped["url"]), "version": as_array(grouped["version_max"])})


def _joined(group: pa.Table, noted: pa.Table, writer: str) -> pa.Table:
    """Rows of the ledger and of notes, each URL once; what is noted has no digest."""
    if not noted.num_rows:
        return group
    places = pc.index_in(as_array(group["url"]), value_set=as_array(noted["url"]))
    is_noted = pc.is_valid(places)
    later = fill_null(as_array(noted["version"]).take(places), 0)
    versions = pc.max_element_wise(as_array(group["version"]), later)
    digests = pc.if_else(is_noted, pa.scalar(UNKNOWN), as_array(group["digest"]))
    group = group.set_column(3, "version", versions).set_column(4, "digest", digests)
    is_new = np.ones(noted.num_rows, dtype=np.bool_)
    is_new[places.filter(is_noted).to_numpy().astype(np.int64)] = False
    return pa.concat_tables(
        [group.cast(INDEX.schema), unknown_rows(noted.filter(pa.array(is_new)), writer)]
    ).sort_by("url")


def unknown_rows(rows: pa.Table, writer: str) -> pa.Table:
    """Rows of the ledger for URLs of whose documents nothing is known."""
    unknown, nowhere = (pa.repeat(pa.scalar(each), rows.num_rows) for each in (UNKNOWN, ""))
    return ledger_rows(writer, as_array(rows["url"]), as_array(rows["version"]), unknown, nowhere)


def ledger_rows(
    writer: str,
    urls: pa.Array[Any],
    versions: pa.Array[Any],
    digests: pa.Array[Any],
    segments: pa.Array[Any],
) -> pa.Table:
    """Rows of a writer's ledger."""
    writers = pa.repeat(pa.scalar(writer), len(urls))
    hosts = fill_null(hosts_of(urls), "")
    return pa.Table.from_arrays(
        [writers, urls, hosts, versions, digests, segments], schema=INDEX.schema
    )
