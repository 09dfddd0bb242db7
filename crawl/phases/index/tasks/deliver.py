"""A shard's documents reach the writers, and only what is new to them.

For each writer the documents that arrive are held, in the order of URLs, against the ledger of
those that it has: what is older is left out, what is the same stays, the rest replaces or is
added. The shard's next ledger is written beside it. Nothing of it counts before the driver has
published all shards; a server has it at once, so that what it is sent is noted before
(sent_notes.py).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from crawl.config import Config
from crawl.counters import Counters
from crawl.errors import StorageError
from crawl.interfaces.indexwriter import AnsweringShardWriter, IndexWriter, ShardWriter
from crawl.model.arrow import strings
from crawl.model.builders import columns
from crawl.model.derived_tables import INDEX
from crawl.model.documents import IndexDocument
from crawl.phases.index.tasks.documents import DOCUMENTS, packed_document, unpacked_document
from crawl.phases.index.tasks.ledger import known_writers, ledger_of
from crawl.phases.index.tasks.matching import beside_stored
from crawl.phases.index.tasks.outputs import ShardOutput
from crawl.phases.index.tasks.sent_notes import UNKNOWN, SentNotes, UnsettledUrls, ledger_rows
from crawl.phases.index.tasks.shard_place import ShardPlace
from crawl.phases.index.tasks.writers import WriterSpec
from crawl.storage.folder import Folder
from crawl.storage.manifest import BucketFile
from crawl.tables.bucket_files import BucketTarget, BucketWriter
from crawl.tables.exchange import Received
from crawl.tables.ranges import NewRows, StoredGroups

LEDGER_LOST = "ledgers_lost"
"""The counter of shards of which nobody knows any more what a server has."""


@dataclass(frozen=True)
class DeliverJob:
    """A delivery to the index writers: the writers, their files, and the ledger of what they
    have."""

    writers: tuple[WriterSpec, ...]
    config: Config
    target: BucketTarget
    """Of the ledger."""
    folders: Mapping[str, Folder]
    """Where each writer's files go."""
    rebuild: bool = False
    """Writers begin anew: all that arrives is written, and all else is gone."""
    job: str = ""
    """Its name in notes of what is sent."""
    shards: int = 1


@dataclass(frozen=True, slots=True)
class DeliverTask:
    """One shard as it is."""

    number: int
    ledger: BucketFile | None = None
    outputs: Mapping[str, ShardOutput] = field(default_factory=dict)
    """What each writer has."""
    unsettled: Mapping[str, UnsettledUrls] = field(default_factory=dict)
    """What jobs that died may have sent, by writer."""

    @property
    def rows(self) -> int:
        return self.ledger.rows if self.ledger else 0


@dataclass(frozen=True, slots=True)
class DeliverTaskResult:
    """The shard as it is to be."""

    ledger: tuple[BucketFile, ...]
    outputs: Mapping[str, ShardOutput]
    documents: Mapping[str, int]
    """How many each writer has."""
    counters: Counters
    refused: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Of each writer that refused documents, the URL of one and what was said."""


def deliver_shard(job: DeliverJob, task: DeliverTask, received: Received) -> DeliverTaskResult:
    """Gives the writers what arrived."""
    counters = Counters()
    outputs = dict(task.outputs)
    documents: dict[str, int] = {}
    refused: dict[str, tuple[str, str]] = {}
    active = {spec.id: spec for spec in job.writers}

    def write(tables: Iterable[pa.Table]) -> int:
        count = 0
        for rows in tables:
            ledger.write(rows)
            count += rows.num_rows
        return count

    try:
        writers = known_writers(job.target.folder, task.ledger)
    except StorageError:
        if not job.rebuild or not set(outputs) <= set(active):
            raise
        # a ledger that is damaged is made anew too
        writers, task = set(), replace(task, ledger=None)
        counters[LEDGER_LOST] += 1
    with BucketWriter(job.target, task.number) as ledger:
        for writer in sorted({*active, *writers}):
            if writer not in active:
                documents[writer] = write(ledger_of(job.target.folder, task.ledger, writer))
                continue
            delivery = _Delivery(job, task, active[writer], counters)
            try:
                documents[writer] = write(delivery.merged(received))
                output = delivery.close()
            except BaseException:
                delivery.abort()
                raise
            if delivery.refused is not None:
                refused[writer] = delivery.refused
            outputs.pop(writer, None)
            if output is not None:
                outputs[writer] = output
    return DeliverTaskResult(tuple(ledger.files), outputs, documents, counters, refused)


class _Entry(NamedTuple):
    """A row of a writer's ledger."""

    url: str
    version: int
    digest: bytes
    segment: str


class _Delivery:
    """One writer's share of a task."""

    def __init__(
        self, job: DeliverJob, task: DeliverTask, spec: WriterSpec, counters: Counters
    ) -> None:
        self._job = job
        self._task = task
        self._spec = spec
        self._counters = counters
        self._matches = None if spec.when is None else spec.when.matcher()
        self._writer: IndexWriter = spec.build(job.config)
        self._keeps_files = getattr(self._writer, "keeps_files", True)
        self._begins_anew = job.rebuild and self._keeps_files
        base = None if self._begins_anew else task.outputs.get(spec.id)
        self._place = ShardPlace(task.number, job.folders[spec.id], *(base or (None, None)))
        self._opened: ShardWriter | None = None
        self._to_keep = 0
        """How many documents stay that the writer has not been asked to keep yet."""
        self._notes = SentNotes(job.folders[spec.id], job.job, job.shards, task.number)
        self._to_note: list[pa.Table] = []
        """Documents that may be sent to a server next."""
        self.refused: tuple[str, str] | None = None
        """The first document that was refused, and what was said."""

    def merged(self, received: Received) -> Iterator[pa.Table]:
        """Tells the writer of what arrived; the rows of the next ledger, in order."""
        stored = StoredGroups(self._stored(), "url")
        for new in NewRows.received(received, DOCUMENTS, "url").ranges():
            arrived = new.rows.sort_by("url").combine_chunks()
            self._to_note = [arrived.select(["url", "version"])]
            for group, beside in beside_stored(stored, new.end, arrived, INDEX.schema):
                yield self._merge(group, beside)

    def _stored(self) -> Iterable[pa.Table]:
        """The ledger, with what dead jobs may have sent."""
        if self._begins_anew:
            return ()
        ledger = ledger_of(self._job.target.folder, self._task.ledger, self._spec.id)
        unsettled = self._task.unsettled.get(self._spec.id)
        if unsettled is None:
            return ledger
        return unsettled.merged(StoredGroups(ledger, "url"), self._spec.id)

    def _merge(self, group: pa.Table, arrived: pa.Table) -> pa.Table:
        if not arrived.num_rows and not self._job.rebuild:
            self._to_keep += group.num_rows
            return group
        if self._job.rebuild:
            self._to_note.append(group.select(["url", "version"]))
        urls = strings(group["url"])
        versions: list[Any] = group["version"].to_pylist()
        digests: list[Any] = group["digest"].to_pylist()
        segments = strings(group["segment"])
        stays = np.ones(len(urls), dtype=np.bool_)
        added: list[_Entry] = []
        place = 0
        rows = zip(*(arrived[name].to_pylist() for name in DOCUMENTS.schema.names), strict=True)
        for url, version, body, segment in rows:
            before = place
            place = bisect_left(urls, url, place)
            self._pass(urls, versions, stays, before, place)
            is_there = place < len(urls) and urls[place] == url
            document = self._document(url, version, body)
            if is_there and version < versions[place]:
                self._count("older")
                self._to_keep += 1
            elif document is None:
                if is_there:
                    self._delete(url, version)
                    stays[place] = False
                elif self._job.rebuild and not self._keeps_files:
                    # whatever became of the ledger: a server may have it
                    self._open().delete(url, version)
            else:
                digest = _digest(document)
                if is_there and digest == digests[place] and not self._job.rebuild:
                    self._count("unchanged")
                    self._to_keep += 1
                else:
                    self._count("updated" if is_there else "added")
                    self._open().add(document, replaces=is_there)
                if is_there:
                    stays[place] = False
                added.append(_Entry(url, version, digest, segment))
            place += is_there
        self._pass(urls, versions, stays, place, len(urls))
        added = self._taken(added, urls, versions, segments)
        survivors = group.filter(pa.array(stays))
        if not added:
            return survivors
        return pa.concat_tables([survivors, self._rows(added)]).sort_by("url")

    def _taken(
        self, added: list[_Entry], urls: list[str], versions: list[Any], segments: list[str]
    ) -> list[_Entry]:
        """What the index has of these: of a document that it refused the one before, if any."""
        if not isinstance(self._opened, AnsweringShardWriter):
            return added
        answer = self._opened.flush()
        for name, count in answer.counts.items():
            self._counters[f"{self._spec.id}.{name}"] += count
        if not answer.refused:
            return added
        if self.refused is None:
            self.refused = next(iter(answer.refused.items()))
        entries: list[_Entry] = []
        for entry in added:
            if entry.url not in answer.refused:
                entries.append(entry)
                continue
            place = bisect_left(urls, entry.url)
            is_there = place < len(urls) and urls[place] == entry.url
            self._counters[f"{self._spec.id}.{'updated' if is_there else 'added'}"] -= 1
            if is_there:
                entries.append(_Entry(entry.url, versions[place], UNKNOWN, segments[place]))
        return entries

    def _pass(self, urls: list[str], versions: list[Any], stays: Any, start: int, end: int) -> None:
        """Documents of which nothing arrived."""
        if not self._job.rebuild:
            self._to_keep += end - start
            return
        for number in range(start, end):
            self._delete(urls[number], versions[number])
            stays[number] = False

    def _document(self, url: str, version: int, body: bytes | None) -> IndexDocument | None:
        """As the writer is to have it; None where it is to have none."""
        if body is None:
            return None
        document = unpacked_document(url, version, body)
        if self._matches is not None and not self._matches(document.fields):
            self._count("not_routed")
            return None
        return self._spec.mapping.mapped(document)

    def _delete(self, url: str, version: int) -> None:
        self._count("deleted")
        self._open().delete(url, version)

    def _rows(self, added: list[_Entry]) -> pa.Table:
        types = [INDEX.schema.field(name).type for name in _Entry._fields]
        urls, versions, digests, segments = columns(added, types)
        return ledger_rows(self._spec.id, urls, versions, digests, segments)

    def _open(self) -> ShardWriter:
        """The writer, opened at the first change, and told of what stayed before it."""
        if self._opened is None:
            self._opened = self._writer.open(self._place)
        if self._to_note and not self._keeps_files:
            for rows in self._to_note:
                if rows.num_rows:
                    self._notes.write(rows)
        self._to_note = []
        if self._to_keep and self._keeps_files:
            self._opened.keep(self._to_keep)
        self._to_keep = 0
        return self._opened

    def _count(self, what: str) -> None:
        self._counters[f"{self._spec.id}.{what}"] += 1

    def close(self) -> ShardOutput | None:
        """The shard's next state: the present one where nothing changed."""
        name = self._place.base
        if self._opened is not None:
            self._open()
            name = self._opened.close()
            if name is not None:
                self._place.store(name)
            self._place.release()
        return None if name is None else ShardOutput(name, self._place.sum_of(name))

    def abort(self) -> None:
        if self._opened is not None:
            with suppress(Exception):  # the fault that led here is told
                self._opened.abort()
        self._place.release()


def _digest(document: IndexDocument) -> bytes:
    return blake2b(packed_document(document), digest_size=16).digest()
