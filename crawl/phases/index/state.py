"""The state of the index as phases work on it: the ledger's shards, the CrawlDb's files that each
of them needs, and the publication of what was delivered."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import gcd
from typing import Any

from crawl.clock import Clock
from crawl.config import Config
from crawl.config.properties import CRAWLDB_BUCKETS
from crawl.model.derived_tables import INDEX, INDEX_KEPT_OUT
from crawl.model.report import Report
from crawl.phases.index.settings import INDEX_SHARDS
from crawl.phases.index.tasks.deliver import DeliverJob, DeliverTask, DeliverTaskResult
from crawl.phases.index.tasks.output_places import check_places
from crawl.phases.index.tasks.outputs import (
    OUTPUTS,
    WriterOutput,
    missed_segments,
    noted_outputs,
    output_address,
    output_folder,
)
from crawl.phases.index.tasks.sent_notes import JOB, UnsettledUrls, new_job, note_names
from crawl.phases.index.tasks.settle import SettledOutputs, settle_outputs
from crawl.phases.index.tasks.writers import WriterSpec
from crawl.printable import printable
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.folder import Folder
from crawl.storage.manifest import LOOKED_AT, BucketFile, Snapshot
from crawl.storage.snapshot import Transaction
from crawl.tables.bucket_files import BucketTarget, largest_first

_KEEP = 1
"""Snapshots of the ledger: an older one would name files that are swept away, so that nobody who
reads a writer's folder finds a document twice."""


def kept_out_files(ledger: Snapshot | None) -> tuple[BucketFile, ...]:
    """What is noted of pages that are kept out of the index."""
    return ledger.attached.get(INDEX_KEPT_OUT.name, ()) if ledger else ()


def _looked_at(crawldb: Snapshot | None, before: Snapshot | None) -> int | None:
    if crawldb is not None:
        return crawldb.number
    return before.notes.get(LOOKED_AT) if before else None


@contextmanager
def writing_index(
    crawl_dir: CrawlDir,
    command: str,
    config: Config,
    clock: Clock,
    specs: Sequence[WriterSpec],
    *,
    steal_lock: bool = False,
    rebuild: bool = False,
) -> Iterator[tuple[Transaction, SettledOutputs]]:
    """Locks the index for a block that may publish, and first completes what a dead one left
    undone, and deletes what it left."""
    dataset = crawl_dir.dataset(INDEX)
    with crawl_dir.writing(dataset, command, config, clock, steal_lock=steal_lock) as transaction:
        check_places(crawl_dir, specs, transaction.base, rebuild=rebuild)
        yield transaction, settle_outputs(crawl_dir, specs, transaction.base)


def _folders(crawl_dir: CrawlDir, specs: Iterable[WriterSpec]) -> list[tuple[str, Folder]]:
    return [(spec.id, output_folder(crawl_dir, spec)) for spec in specs]


def check_writers(specs: Sequence[WriterSpec], config: Config, base: Snapshot | None) -> list[str]:
    """Raises where a writer cannot do its work; a line for each index that is new although the
    ledger has documents of it."""
    outputs = noted_outputs(base)
    lines = []
    for spec in specs:
        writer = spec.build(config)
        writer.check()
        output = outputs.get(spec.id)
        count = sum(output.documents.values()) if output else 0
        if count and getattr(writer, "is_new", False):
            lines.append(
                f"{spec.id}: the index was not there and has been made; the {count:,} documents"
                " that it should have are sent by `crawl index --rebuild`"
            )
    return lines


def refusals(done: Iterable[DeliverTaskResult], report: Report) -> list[str]:
    """A line for each writer that refused documents, with an example."""
    examples: dict[str, tuple[str, str]] = {}
    for result in done:
        examples = {**result.refused, **examples}
    lines = []
    for writer, (url, reason) in sorted(examples.items()):
        count = report.counters[f"{writer}.rejected"]
        many = "1 document" if count == 1 else f"{count:,} documents"
        report.add_samples({f"{writer}.rejected": [f"{url}: {reason}"]}, 1)
        lines.append(
            f"{writer} refused {many}, such as {printable(url, 200)}: {reason}; `crawl index --all`"
            " sends again what was refused"
        )
    return lines


@dataclass(frozen=True)
class IndexState:
    """The index before a phase works on it."""

    base: Snapshot | None
    shards: int
    crawldb: Snapshot | None
    target: BucketTarget
    """Of the ledger."""
    kept_out_target: BucketTarget
    unsettled: Mapping[str, tuple[Folder, tuple[str, ...]]] = field(default_factory=dict)
    """Notes of what jobs that died may have sent to servers, by writer."""
    job: str = field(default_factory=new_job)

    @classmethod
    def of(
        cls,
        crawl_dir: CrawlDir,
        config: Config,
        transaction: Transaction,
        crawldb: Snapshot | None,
        specs: Sequence[WriterSpec],
    ) -> IndexState:
        base = transaction.base
        if base is not None:
            shards = base.buckets
        else:
            buckets = crawldb.buckets if crawldb else config[CRAWLDB_BUCKETS]
            shards = gcd(config[INDEX_SHARDS], buckets)
        target = BucketTarget(INDEX, transaction.folder, transaction.place)
        kept_out = BucketTarget(INDEX_KEPT_OUT, transaction.folder, transaction.place, stem="kept")
        unsettled = {
            writer: (folder, names)
            for writer, folder in _folders(crawl_dir, specs)
            if (names := tuple(note_names(folder)))
        }
        return cls(base, shards, crawldb, target, kept_out, unsettled)

    def crawldb_files(self, shard: int) -> tuple[BucketFile, ...]:
        """The CrawlDb's files that may have URLs of a shard."""
        if self.crawldb is None:
            return ()
        shared = gcd(self.shards, self.crawldb.buckets)
        return tuple(file for file in self.crawldb.files if file.bucket % shared == shard % shared)

    def ledger(self, shard: int) -> BucketFile | None:
        files = self.base.files_of(shard) if self.base else ()
        return files[0] if files else None

    def kept_out(self, shard: int) -> tuple[BucketFile, ...]:
        """What is noted of pages that are kept out of the index."""
        return tuple(file for file in kept_out_files(self.base) if file.bucket == shard)

    def unsettled_of(self, shard: int) -> dict[str, UnsettledUrls]:
        """What jobs that died may have sent of a shard, by writer."""
        found = {
            writer: UnsettledUrls.of_shard(folder, names, self.shards, shard)
            for writer, (folder, names) in self.unsettled.items()
        }
        return {writer: each for writer, each in found.items() if each is not None}

    def tasks(self) -> list[DeliverTask]:
        """Every shard as it is, the largest first."""
        outputs = noted_outputs(self.base)
        return largest_first(
            DeliverTask(
                number,
                self.ledger(number),
                {
                    writer: each.shards[number]
                    for writer, each in outputs.items()
                    if number in each.shards
                },
                self.unsettled_of(number),
                {
                    writer: each.sums[number]
                    for writer, each in outputs.items()
                    if number in each.sums
                },
            )
            for number in range(self.shards)
        )

    def deliver_job(
        self,
        crawl_dir: CrawlDir,
        config: Config,
        specs: Sequence[WriterSpec],
        *,
        rebuild: bool = False,
    ) -> DeliverJob:
        folders = dict(_folders(crawl_dir, specs))
        return DeliverJob(
            tuple(specs), config, self.target, folders, rebuild, self.job, self.shards
        )

    def publish(
        self,
        transaction: Transaction,
        crawl_dir: CrawlDir,
        specs: Sequence[WriterSpec],
        done: Mapping[int, DeliverTaskResult],
        report: Report,
        clock: Clock,
        kept_out: Mapping[int, tuple[BucketFile, ...]],
        *,
        applying: Iterable[str] = (),
        looked: bool = False,
        indexed: Iterable[str] = (),
        returning: Iterable[str] = (),
    ) -> tuple[Snapshot, dict[str, WriterOutput]]:
        """Makes what was delivered the state; shards that nobody worked on stay as they are.
        `looked`: no page is kept out any more that the CrawlDb does not keep out. `indexed`: the
        segments of which all pages were asked for; `returning`: those of which some were."""
        addresses = {spec.id: output_address(spec) for spec in specs}
        outputs = self._outputs(addresses, done, frozenset(indexed), frozenset(returning))
        files = [
            file
            for shard in range(self.shards)
            for file in (
                done[shard].ledger if shard in done else filter(None, [self.ledger(shard)])
            )
        ]
        kept = [
            file
            for shard in range(self.shards)
            for file in (kept_out[shard] if shard in kept_out else self.kept_out(shard))
        ]
        report.counters["kept_out"] += sum(file.rows for file in kept)
        report.finished_ms = clock.now_ms()
        notes: dict[str, Any] = {
            OUTPUTS: {writer: each.as_note() for writer, each in sorted(outputs.items())},
            JOB: self.job,
            LOOKED_AT: _looked_at(self.crawldb if looked else None, self.base),
        }
        snapshot = transaction.publish(
            files,
            report,
            buckets=self.shards,
            keep=_KEEP,
            notes=notes,
            applying=applying,
            attached={INDEX_KEPT_OUT.name: kept},
        )
        for folder, names in self.unsettled.values():
            for name in names:
                folder.delete(name)
        settle_outputs(crawl_dir, specs, snapshot)
        return snapshot, outputs

    def _outputs(
        self,
        addresses: Mapping[str, str],
        done: Mapping[int, DeliverTaskResult],
        indexed: frozenset[str],
        returning: frozenset[str],
    ) -> dict[str, WriterOutput]:
        before = noted_outputs(self.base)
        missed = missed_segments(self.base, {*before, *addresses})
        found: dict[str, WriterOutput] = {}
        for writer in {*before, *addresses}:
            present = before.get(writer, WriterOutput("", {}, {}))
            shards, documents = dict(present.shards), dict(present.documents)
            sums = dict(present.sums)
            for shard, result in done.items():
                shards.pop(shard, None)
                sums.pop(shard, None)
                if writer in result.outputs:
                    shards[shard] = result.outputs[writer]
                if writer in result.sums:
                    sums[shard] = result.sums[writer]
                documents[shard] = result.documents.get(writer, 0)
            address = addresses.get(writer, present.address)
            lacking = set(missed.get(writer, ()))
            lacking = lacking - indexed if writer in addresses else lacking | indexed | returning
            found[writer] = WriterOutput(address, shards, documents, sums, tuple(sorted(lacking)))
        return found
