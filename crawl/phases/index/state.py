"""The state of the index as phases work on it: the ledger's shards, the CrawlDb's files that each
of them needs, and the publication of what was delivered."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from math import gcd
from typing import Any

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


def document_counts(ledger: Snapshot, specs: Iterable[WriterSpec]) -> dict[str, int]:
    """How many documents each of these writers has."""
    outputs = noted_outputs(ledger)
    return {spec.id: outputs[spec.id].count if spec.id in outputs else 0 for spec in specs}


def check_writers(specs: Sequence[WriterSpec], config: Config, base: Snapshot | None) -> list[str]:
    """Raises where a writer cannot do its work; a line for each index that is new although the
    ledger has documents of it."""
    outputs = noted_outputs(base)
    lines = []
    for spec in specs:
        writer = spec.build(config)
        writer.check()
        count = outputs[spec.id].count if spec.id in outputs else 0
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
        unsettled = tuple(self._unsettled_of(number).values())
        return ShardTask(number, crawldb, self._kept_out(number), self._ledger(number), unsettled)

    def _ledger(self, shard: int) -> BucketFile | None:
        files = self.base.files_of(shard) if self.base else ()
        return files[0] if files else None

    def _kept_out(self, shard: int) -> tuple[BucketFile, ...]:
        """What is noted of pages that are kept out of the index."""
        return tuple(file for file in kept_out_files(self.base) if file.bucket == shard)

    def _unsettled_of(self, shard: int) -> dict[str, UnsettledUrls]:
        """What jobs that died may have sent of a shard, by writer."""
        found = {
            writer: UnsettledUrls.of_shard(self._folders[writer], names, self.shards, shard)
            for writer, names in self._unsettled.items()
        }
        return {writer: each for writer, each in found.items() if each is not None}

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
        outputs = noted_outputs(self.base)
        return largest_first(
            DeliverTask(
                number,
                self._ledger(number),
                {
                    writer: ShardOutput(each.shards[number], each.sums.get(number))
                    for writer, each in outputs.items()
                    if number in each.shards
                },
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
        done: Mapping[int, DeliverTaskResult],
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
        outputs = self._outputs(done, frozenset(indexed), frozenset(returning))
        files = [
            file
            for shard in range(self.shards)
            for file in (
                done[shard].ledger if shard in done else filter(None, [self._ledger(shard)])
            )
        ]
        kept = [
            file
            for shard in range(self.shards)
            for file in (kept_out[shard] if shard in kept_out else self._kept_out(shard))
        ]
        report.counters["kept_out"] += sum(file.rows for file in kept)
        report.finished_ms = clock.now_ms()
        notes: dict[str, Any] = {
            OUTPUTS: {writer: each.as_note() for writer, each in sorted(outputs.items())},
            JOB: self._job,
            LOOKED_AT: _looked_at(self.crawldb if looked else None, self.base),
        }
        snapshot = self._transaction.publish(
            files,
            report,
            buckets=self.shards,
            keep=_KEEP,
            notes=notes,
            applying=applying,
            attached={INDEX_KEPT_OUT.name: kept},
        )
        for writer, names in self._unsettled.items():
            for name in names:
                self._folders[writer].delete(name)
        settle_outputs(self._crawl_dir, self._specs, snapshot)
        return snapshot

    def _outputs(
        self,
        done: Mapping[int, DeliverTaskResult],
        indexed: frozenset[str],
        returning: frozenset[str],
    ) -> dict[str, WriterOutput]:
        before = noted_outputs(self.base)
        addresses = {spec.id: output_address(spec) for spec in self._specs}
        missed = missed_segments(self.base, {*before, *addresses})
        found: dict[str, WriterOutput] = {}
        for writer in {*before, *addresses}:
            present = before.get(writer, WriterOutput("", {}, {}))
            shards, documents = dict(present.shards), dict(present.documents)
            sums = dict(present.sums)
            for shard, result in done.items():
                shards.pop(shard, None)
                sums.pop(shard, None)
                if output := result.outputs.get(writer):
                    shards[shard] = output.name
                    if output.sum is not None:
                        sums[shard] = output.sum
                documents[shard] = result.documents.get(writer, 0)
            address = addresses.get(writer, present.address)
            lacking = set(missed.get(writer, ()))
            lacking = lacking - indexed if writer in addresses else lacking | indexed | returning
            found[writer] = WriterOutput(address, shards, documents, sums, tuple(sorted(lacking)))
        return found
