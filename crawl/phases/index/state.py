"""The state of the index as phases work on it: the ledger's shards, the CrawlDb's files that each
of them needs, and the publication of what was delivered."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from math import gcd
from typing import Any

import msgspec

from crawl.clock import Clock
from crawl.config import Config
from crawl.config.properties import CRAWLDB_BUCKETS
from crawl.model.derived_tables import INDEX, INDEX_KEPT_OUT
from crawl.model.report import Report
from crawl.phases.index.settings import INDEX_SHARDS
from crawl.phases.index.tasks.decide import ShardTask, files_of_shard
from crawl.phases.index.tasks.deliver import (
    DeliverJob,
    DeliverTask,
    DeliverTaskResult,
    deliver_shard,
)
from crawl.phases.index.tasks.outputs import (
    OUTPUTS,
    ShardOutput,
    WriterOutput,
    check_places,
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
from crawl.storage.manifest import LOOKED_AT, BucketFile, Snapshot
from crawl.storage.snapshot import Transaction
from crawl.tables.bucket_files import BucketTarget, largest_first
from crawl.tables.exchange import Exchange

_KEEP = 1
"""Snapshots of the ledger: an older one would name files that are swept away, so that nobody who
reads a writer's folder finds a document twice."""


def kept_out_files(ledger: Snapshot | None) -> tuple[BucketFile, ...]:
    """What is noted of pages that are kept out of the index."""
    return ledger.attached.get(INDEX_KEPT_OUT.name, ()) if ledger else ()


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


@dataclass(frozen=True, slots=True)
class IndexResult:
    """What the index is now. It is no state of the CrawlDb."""

    number: int
    """Of the ledger's snapshot."""
    documents: Mapping[str, int]
    """How many each writer has."""
    report: Report
    segments: tuple[str, ...]
    remarks: tuple[str, ...]
    took_over: str | None


def document_counts(ledger: Snapshot | None, specs: Iterable[WriterSpec]) -> dict[str, int]:
    """How many documents each of these writers has."""
    outputs = noted_outputs(ledger)
    return {spec.id: outputs[spec.id].count if spec.id in outputs else 0 for spec in specs}


def check_writers(specs: Sequence[WriterSpec], config: Config, base: Snapshot | None) -> list[str]:
    """Raises where a writer cannot do its work; a line for each index that is new although the
    ledger has documents of it."""
    counts = document_counts(base, specs)
    lines = []
    for spec in specs:
        writer = spec.build(config)
        writer.check()
        count = counts[spec.id]
        if count and getattr(writer, "is_new", False):
            lines.append(
                f"{spec.id}: the index was not there and has been made; the {count:,} documents"
                " that it should have are sent by `crawl index --rebuild`"
            )
    return lines


def refusals(results: Iterable[DeliverTaskResult], report: Report) -> list[str]:
    """A line for each writer that refused documents, with an example."""
    examples: dict[str, tuple[str, str]] = {}
    for result in results:
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


class IndexState:
    """The index before a phase works on it."""

    def __init__(
        self,
        crawl_dir: CrawlDir,
        config: Config,
        transaction: Transaction,
        crawldb: Snapshot | None,
        specs: Sequence[WriterSpec],
    ) -> None:
        self._crawl_dir = crawl_dir
        self._config = config
        self._transaction = transaction
        self._specs = tuple(specs)
        self._folders = {spec.id: output_folder(crawl_dir, spec) for spec in specs}
        self._unsettled = {writer: note_names(folder) for writer, folder in self._folders.items()}
        """Notes of what jobs that died may have sent to servers, by writer."""
        self._job = new_job()
        self.base = transaction.base
        self.crawldb = crawldb
        if self.base is not None:
            self.shards = self.base.buckets
        else:
            buckets = crawldb.buckets if crawldb else config[CRAWLDB_BUCKETS]
            self.shards = gcd(config[INDEX_SHARDS], buckets)
        self.kept_out_target = BucketTarget(
            INDEX_KEPT_OUT, transaction.folder, transaction.place, stem="kept"
        )

    def shard(self, number: int, *, anew: bool = False) -> ShardTask:
        """A shard as it is; `anew`: as if nothing had been indexed yet."""
        crawldb = files_of_shard(self.crawldb, number, self.shards)
        if anew:
            return ShardTask(number, crawldb)
        ledger = next(iter(self._ledger(number)), None)
        unsettled = tuple(self._unsettled_of(number).values())
        return ShardTask(number, crawldb, self._kept_out(number), ledger, unsettled)

    def _ledger(self, shard: int) -> tuple[BucketFile, ...]:
        """The shard's file of the ledger, if it has one."""
        return self.base.files_of(shard) if self.base else ()

    def _kept_out(self, shard: int) -> tuple[BucketFile, ...]:
        """What is noted of pages that are kept out of the index."""
        return tuple(file for file in kept_out_files(self.base) if file.bucket == shard)

    def _unsettled_of(self, shard: int) -> dict[str, UnsettledUrls]:
        """What jobs that died may have sent of a shard, by writer."""
        return {
            writer: urls
            for writer, names in self._unsettled.items()
            if (urls := UnsettledUrls.of_shard(self._folders[writer], names, self.shards, shard))
        }

    def deliver(
        self, documents: Exchange[Any], report: Report, step: str, *, rebuild: bool = False
    ) -> dict[int, DeliverTaskResult]:
        """Gives the writers what was sent to each shard; what came of the shards that were worked
        on. `rebuild`: writers begin anew."""
        target = BucketTarget(INDEX, self._transaction.folder, self._transaction.place)
        job = DeliverJob(
            self._specs, self._config, target, self._folders, rebuild, self._job, self.shards
        )
        counts = documents.row_counts()
        tasks = [task for task in self._tasks() if rebuild or counts[task.number] or task.unsettled]
        results: list[DeliverTaskResult] = documents.run(
            partial(deliver_shard, job), [(task.number, task) for task in tasks], step
        )
        for result in results:
            report.counters += result.counters
        return {task.number: result for task, result in zip(tasks, results, strict=True)}

    def _tasks(self) -> list[DeliverTask]:
        """Every shard as it is, the largest first."""
        outputs = {writer: each.by_shard for writer, each in noted_outputs(self.base).items()}
        return largest_first(
            DeliverTask(
                number,
                next(iter(self._ledger(number)), None),
                {writer: each[number] for writer, each in outputs.items() if number in each},
                self._unsettled_of(number),
            )
            for number in range(self.shards)
        )

    def commit(self) -> None:
        """Has each writer make visible what it was given."""
        for spec in self._specs:
            spec.build(self._config).commit()

    def publish(
        self,
        results: Mapping[int, DeliverTaskResult],
        kept_out: Mapping[int, tuple[BucketFile, ...]],
        report: Report,
        clock: Clock,
        *,
        applying: Iterable[str] = (),
        looked: bool = False,
        indexed: Iterable[str] = (),
        returning: Iterable[str] = (),
    ) -> Snapshot:
        """Makes what was delivered the state; shards that nobody worked on stay as they are.
        `looked`: no page is kept out any more that the CrawlDb does not keep out. `indexed`: the
        segments of which all pages were asked for; `returning`: those of which some were."""
        outputs = self._outputs(results, frozenset(indexed), frozenset(returning))
        files = [
            file
            for shard in range(self.shards)
            for file in (results[shard].ledger if shard in results else self._ledger(shard))
        ]
        kept_out_files = [
            file
            for shard in range(self.shards)
            for file in (kept_out[shard] if shard in kept_out else self._kept_out(shard))
        ]
        report.counters["kept_out"] += sum(file.rows for file in kept_out_files)
        report.finished_ms = clock.now_ms()
        looked_at = self.base.notes.get(LOOKED_AT) if self.base else None
        if looked and self.crawldb:
            looked_at = self.crawldb.number
        notes: dict[str, Any] = {
            OUTPUTS: msgspec.to_builtins(outputs, str_keys=True),
            JOB: self._job,
            LOOKED_AT: looked_at,
        }
        snapshot = self._transaction.publish(
            files,
            report,
            buckets=self.shards,
            keep=_KEEP,
            notes=notes,
            applying=applying,
            attached={INDEX_KEPT_OUT.name: kept_out_files},
        )
        for writer, names in self._unsettled.items():
            for name in names:
                self._folders[writer].delete(name)
        settle_outputs(self._crawl_dir, self._specs, snapshot)
        return snapshot

    def _outputs(
        self,
        results: Mapping[int, DeliverTaskResult],
        indexed: frozenset[str],
        returning: frozenset[str],
    ) -> dict[str, WriterOutput]:
        before = noted_outputs(self.base)
        addresses = {spec.id: output_address(spec) for spec in self._specs}
        missed = missed_segments(self.base, {*before, *addresses})
        after: dict[str, WriterOutput] = {}
        for writer in sorted({*before, *addresses}):
            present = before.get(writer, WriterOutput("", {}, {}))
            shards: dict[int, ShardOutput | None] = {**present.by_shard}
            documents = dict(present.documents)
            for shard, result in results.items():
                shards[shard] = result.outputs.get(writer)
                documents[shard] = result.documents.get(writer, 0)
            outputs = {number: each for number, each in sorted(shards.items()) if each}
            lacking = set(missed.get(writer, ()))
            lacking = lacking - indexed if writer in addresses else lacking | indexed | returning
            after[writer] = WriterOutput(
                addresses.get(writer, present.address),
                {number: each.name for number, each in outputs.items()},
                dict(sorted(documents.items())),
                {number: each.sum for number, each in outputs.items() if each.sum is not None},
                tuple(sorted(lacking)),
            )
        return after
