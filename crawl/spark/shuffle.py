"""Spark's own shuffle, as an exchange uses it: the JVM moves opaque pairs of a partition and bytes.

This is what `RDD.partitionBy` does, but for what its Python side collects: it keeps up to a
thousand blocks, of any size, before it hands on the first.
"""

from __future__ import annotations

import pickle
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crawl.errors import CrawlError
from crawl.spark.exchange_worker import Item, Placed
from crawl.spark.faults import reported_faults
from crawl.spark.progress import Showing, progress

if TYPE_CHECKING:
    from pyspark import RDD, SparkContext
    from pyspark.sql import SparkSession

_BATCH_BYTES = 1 << 20
"""Blocks that are handed to the JVM at once, by partition: each handing over takes some
microseconds, and small blocks are many."""
_ITEM_BYTES = 1 << 10
"""About as much as anything takes that is no block."""
_SLICE_BYTES = 8 << 20
"""Tasks that one task of Spark carries to their destinations: what Spark sends to an executor at
once must stay below 128 MiB."""
_PARTITION = struct.Struct("!q")
"""A long as Java reads it."""


@dataclass(frozen=True, slots=True)
class SparkShuffle:
    """Steps of an exchange on the executors of a session."""

    spark: SparkSession
    quiet: bool
    explain: Sequence[Callable[[str], CrawlError | None]] = ()
    showing: Showing | None = None

    @property
    def _context(self) -> SparkContext:
        return self.spark.sparkContext

    def dealt(self, slices: Sequence[Any]) -> RDD[Any]:
        """A partition for each of these."""
        return self._context.parallelize(slices, len(slices))

    def mapped(
        self, rows: RDD[Any], function: Callable[[int, Iterable[Any]], Iterable[Any]]
    ) -> RDD[Any]:
        """`function` of each partition, with its number."""
        return rows.mapPartitionsWithIndex(function)

    def shuffled(self, sent: Sequence[RDD[Placed]], partitions: int) -> RDD[Item]:
        """All that was sent, each item in its partition."""
        from pyspark import RDD
        from pyspark.serializers import BatchedSerializer

        context, jvm = self._context, self._context._jvm
        assert jvm is not None
        keyed = [self._keyed(each) for each in sent]
        pairs = keyed[0] if len(keyed) == 1 else context.union(keyed)
        by_partition = jvm.PairwiseRDD(pairs._jrdd.rdd()).asJavaPairRDD()
        # the same for every shuffle: what goes to a partition is said by its number
        partitioner = jvm.PythonPartitioner(partitions, 0)
        moved = jvm.PythonRDD.valueOfPair(by_partition.partitionBy(partitioner))
        batches = BatchedSerializer(context._unbatched_serializer)  # type: ignore[no-untyped-call]
        return RDD(moved, context, batches)

    def _keyed(self, sent: RDD[Placed]) -> RDD[bytes]:
        keyed = sent.mapPartitionsWithIndex(_keyed_batches)
        keyed._bypass_serializer = True  # type: ignore[attr-defined]  # as in RDD.partitionBy
        return keyed

    def beside(
        self, shuffled: RDD[Item], items: Sequence[Placed], partitions: int, size: int
    ) -> RDD[Item]:
        """The same partitions, and each of these items, of so many bytes in all, in its own."""
        slices = min(len(items), 1 + size // _SLICE_BYTES)
        dealt = self._context.parallelize(items, slices)
        # parts of the same partitioner: Spark unites them partition by partition
        together = self._context.union([self.shuffled([dealt], partitions), shuffled])
        assert together.getNumPartitions() == partitions
        return together

    def partitions_of(self, rows: RDD[Any]) -> int:
        return rows.getNumPartitions()

    def run(self, rows: RDD[Any], partitions: list[int], tasks: int, step: str) -> list[Any]:
        """What these partitions hold, in this order, which is also the order of start."""
        with (
            reported_faults(self.spark, step, self.explain),
            progress(self.spark, step, tasks, quiet=self.quiet, showing=self.showing),
        ):
            return list(self._context.runJob(rows, iter, partitions))


def _keyed_batches(_: int, sent: Iterable[Placed]) -> Iterator[bytes]:
    """Runs in the worker: partitions and what goes there, in turn."""
    batches: dict[int, list[Item]] = {}
    size = 0
    for partition, item in sent:
        batches.setdefault(partition, []).append(item)
        size += len(item[1]) if isinstance(item, tuple) else _ITEM_BYTES
        del item
        if size >= _BATCH_BYTES:
            yield from _drained(batches)
            size = 0
    yield from _drained(batches)


def _drained(batches: dict[int, list[Item]]) -> Iterator[bytes]:
    while batches:
        partition, items = batches.popitem()
        yield _PARTITION.pack(partition)
        yield pickle.dumps(items, pickle.HIGHEST_PROTOCOL)
