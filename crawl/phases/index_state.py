"""The state of the index as phases work on it: the ledger's shards, the CrawlDb's files that each
of them needs, and the publication of what was delivered."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import gcd

from crawl.buckets.bucket_files import BucketTarget, largest_first
from crawl.clock import Clock
from crawl.config import Config
from crawl.config.properties import CRAWLDB_BUCKETS
from crawl.indexing.deliver import DeliverJob, DeliverTask, DeliverTaskResult
from crawl.indexing.outputs import (
    OUTPUTS,
    WriterOutput,
    noted_outputs,
    output_address,
    output_folder,
    settle_outputs,
)
from crawl.indexing.settings import INDEX_SHARDS
from crawl.indexing.writers import WriterSpec
from crawl.model.report import Report
from crawl.model.tables import INDEX
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.folder import Folder
from crawl.storage.manifest import BucketFile, Snapshot
from crawl.storage.snapshot import Transaction

_KEEP = 1
"""Snapshots of the ledger: an older one would name files that are swept away, so that nobody who
reads a writer's folder finds a document twice."""


@contextmanager
def writing_index(
    crawl_dir: CrawlDir,
    command: str,
    config: Config,
    clock: Clock,
    specs: Sequence[WriterSpec],
    *,
    force: bool = False,
) -> Iterator[Transaction]:
    """Locks the index for a block that may publish, and sweeps away what a dead one left."""
    dataset = crawl_dir.dataset(INDEX)
    with crawl_dir.writing(dataset, command, config, clock, force=force) as transaction:
        settle_outputs(crawl_dir, specs, transaction.base)
        yield transaction


def _folders(crawl_dir: CrawlDir, specs: Iterable[WriterSpec]) -> list[tuple[str, Folder]]:
    return [(spec.id, output_folder(crawl_dir, spec)) for spec in specs]


@dataclass(frozen=True)
class IndexState:
    """The index before a phase works on it."""

    base: Snapshot | None
    shards: int
    crawldb: Snapshot | None
    target: BucketTarget

    @classmethod
    def of(
        cls,
        crawl_dir: CrawlDir,
        config: Config,
        transaction: Transaction,
        crawldb: Snapshot | None,
    ) -> IndexState:
        base = transaction.base
        if base is not None:
            shards = base.buckets
        else:
            buckets = crawldb.buckets if crawldb else config[CRAWLDB_BUCKETS]
            shards = gcd(config[INDEX_SHARDS], buckets)
        target = BucketTarget(INDEX, transaction.folder, transaction.place)
        return cls(base, shards, crawldb, target)

    def crawldb_files(self, shard: int) -> tuple[BucketFile, ...]:
        """The CrawlDb's files that may have URLs of a shard."""
        if self.crawldb is None:
            return ()
        shared = gcd(self.shards, self.crawldb.buckets)
        return tuple(file for file in self.crawldb.files if file.bucket % shared == shard % shared)

    def ledger(self, shard: int) -> BucketFile | None:
        files = self.base.files_of(shard) if self.base else ()
        return files[0] if files else None

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
        return DeliverJob(tuple(specs), config, self.target, folders, rebuild)

    def publish(
        self,
        transaction: Transaction,
        crawl_dir: CrawlDir,
        specs: Sequence[WriterSpec],
        done: Mapping[int, DeliverTaskResult],
        report: Report,
        clock: Clock,
        applying: Iterable[str] = (),
    ) -> tuple[Snapshot, dict[str, WriterOutput]]:
        """Makes what was delivered the state; shards that nobody worked on stay as they are."""
        outputs = self._outputs({spec.id: output_address(spec) for spec in specs}, done)
        files = [
            file
            for shard in range(self.shards)
            for file in (
                done[shard].ledger if shard in done else filter(None, [self.ledger(shard)])
            )
        ]
        report.finished_ms = clock.now_ms()
        notes = {OUTPUTS: {writer: each.as_note() for writer, each in sorted(outputs.items())}}
        snapshot = transaction.publish(
            files, report, buckets=self.shards, keep=_KEEP, notes=notes, applying=applying
        )
        settle_outputs(crawl_dir, specs, snapshot)
        return snapshot, outputs

    def _outputs(
        self, addresses: Mapping[str, str], done: Mapping[int, DeliverTaskResult]
    ) -> dict[str, WriterOutput]:
        before = noted_outputs(self.base)
        found: dict[str, WriterOutput] = {}
        for writer in {*before, *addresses}:
            present = before.get(writer, WriterOutput("", {}, {}))
            shards, documents = dict(present.shards), dict(present.documents)
            for shard, result in done.items():
                shards.pop(shard, None)
                if writer in result.outputs:
                    shards[shard] = result.outputs[writer]
                documents[shard] = result.documents.get(writer, 0)
            address = addresses.get(writer, present.address)
            found[writer] = WriterOutput(address, shards, documents)
        return found
