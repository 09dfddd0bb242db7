"""The CrawlDb as a Spark table: `spark.read.format("nutria").load("mycrawl")`.

A Python data source, so that it reads wherever fsspec does, with or without a Hadoop
connector, one partition a bucket. `status` is the status's name here; `_bucket` and
`_row` tell where a record stands.

    from crawl.spark.source import register
    register(spark)
    spark.read.format("nutria").load("mycrawl").where("status = 'db_gone'").count()
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import __version__ as spark_version
from pyspark.sql import SparkSession

from crawl.buckets.stats import status_label
from crawl.errors import EnvironmentFault, UsageError
from crawl.model.tables import CRAWLDB, TIMESTAMP, Column, Table
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.folder import Folder
from crawl.storage.manifest import Snapshot
from crawl.storage.parquet import each_group, open_table

try:
    from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
except ModuleNotFoundError as missing:
    raise EnvironmentFault(
        f"--expr and the format nutria need Spark 4 or later: this is {spark_version}, which has"
        " no Python data sources"
    ) from missing

FORMAT = "nutria"

SHOWN = Table(
    "crawldb",
    tuple(
        replace(column, type=pa.string()) if column.name == "status" else column
        for column in CRAWLDB.columns
    ),
)
"""The columns as a condition sees them."""

PLACED = Table(
    "crawldb",
    (
        *SHOWN.columns,
        Column("_bucket", pa.int32(), "the record's bucket"),
        Column("_row", pa.int32(), "its place in the bucket"),
    ),
)


_MICROSECONDS = pa.timestamp("us", tz="UTC")
_AS_SPARK_TAKES_IT = pa.schema(
    [
        # its timestamps are in microseconds, and it takes no others
        field.with_type(_MICROSECONDS) if field.type == TIMESTAMP else field
        for field in PLACED.schema
    ]
)


@dataclass(frozen=True, slots=True)
class Bucket(InputPartition):
    """One file of the CrawlDb."""

    number: int
    path: str


class CrawlDbReader(DataSourceReader):
    """Reads one snapshot."""

    def __init__(self, crawldb: Folder, snapshot: Snapshot) -> None:
        self._crawldb = crawldb
        self._files = [(file.bucket, file.path) for file in snapshot.files]

    def partitions(self) -> Sequence[InputPartition]:
        return [Bucket(number, path) for number, path in self._files]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Bucket)
        labels = pa.array([status_label(code) for code in range(128)])
        start = 0
        with open_table(self._crawldb, partition.path) as source:
            for rows in each_group(source):
                yield from _shown(rows, partition.number, start, labels).to_batches()
                start += rows.num_rows


def _shown(rows: pa.Table, bucket: int, start: int, labels: pa.Array) -> pa.Table:
    size = rows.num_rows
    columns: dict[str, Any] = {name: rows[name] for name in rows.column_names}
    columns["status"] = labels.take(rows["status"].combine_chunks())
    for name in ("fetch_time", "modified_time"):
        columns[name] = rows[name].cast(_MICROSECONDS)
    columns["_bucket"] = pa.array(np.full(size, bucket, dtype=np.int32))
    columns["_row"] = pa.array(np.arange(start, start + size, dtype=np.int32))
    return pa.table(columns, schema=_AS_SPARK_TAKES_IT).combine_chunks()


class CrawlDbSource(DataSource):
    """Options: the path is the crawl's folder; `snapshot` an older state's number."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return PLACED.spark_ddl

    def reader(self, schema: object) -> DataSourceReader:
        address = self.options.get("path")
        if not address:
            raise UsageError("give the crawl's folder: .load('mycrawl')")
        directory = CrawlDir(address)
        snapshot = directory.require_crawldb()
        number = self.options.get("snapshot")
        if number is not None:
            snapshot = directory.crawldb.snapshot(int(number))
        return CrawlDbReader(directory.crawldb.folder, snapshot)


def register(spark: SparkSession) -> None:
    """Makes the format known to a session."""
    spark.dataSource.register(CrawlDbSource)
