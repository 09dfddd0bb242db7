"""`--expr`: a Spark SQL condition over the CrawlDb, as the rows that it holds for.

Spark evaluates the condition; the rows reach it through Python and fsspec, so that it
works wherever the CrawlDb is, with or without a Hadoop connector. `status` is the
status's name here (`status = 'db_fetched'`), metadata a map (`metadata['lang'] = 'en'`).
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.sql import DataFrame, SparkSession

from crawl.buckets.generate.scan import MATCHING
from crawl.buckets.stats import status_label
from crawl.errors import UsageError
from crawl.model.tables import CRAWLDB, Column, Table
from crawl.storage.folder import Folder, attempt_name
from crawl.storage.parquet import each_group, open_table
from crawl.storage.snapshot import BucketFile, Snapshot
from crawl.storage.split import SplitFile, write_split

SHOWN = Table(
    "crawldb",
    tuple(
        replace(column, type=pa.string()) if column.name == "status" else column
        for column in CRAWLDB.columns
    ),
)
"""The CrawlDb as an expression sees it."""

_PLACED = Table(
    "placed",
    (
        *SHOWN.columns,
        Column("_bucket", pa.int32(), "the row's bucket"),
        Column("_row", pa.int32(), "the row's place in it"),
    ),
)

# it prints every wrong expression as JSON to stderr; `checked` says it in one line
logging.getLogger("SQLQueryContextLogger").disabled = True

_FORBIDDEN = re.compile(
    r"\b(reflect|java_method|try_reflect|select|assert_true|raise_error)\b", re.IGNORECASE
)


def checked(spark: SparkSession, expr: str) -> str:
    """The expression, or UsageError with Spark's reason in one line."""
    forbidden = _FORBIDDEN.search(expr)
    if forbidden:
        raise UsageError(f"--expr: {forbidden.group()!r} may not be used in an expression")
    try:
        condition = spark.createDataFrame([], SHOWN.spark_ddl).where(expr)
        _ = condition.schema
    except (ParseException, AnalysisException) as error:
        columns = ", ".join(SHOWN.names)
        raise UsageError(f"--expr {expr!r}: {_reason(error)} (columns: {columns})") from error
    return expr


def _reason(error: PySparkException) -> str:
    """The first sentence of what Spark says, without its codes and query positions."""
    text = re.sub(r"\s+", " ", str(error).split("\n")[0])
    text = re.sub(r"^\[[A-Z_.0-9]+\]\s*", "", text)
    return text.split(" SQLSTATE")[0].rstrip(" .")


def matching_rows(
    spark: SparkSession, crawldb: Folder, snapshot: Snapshot, expr: str, scratch: Folder
) -> list[SplitFile]:
    """The rows that the expression holds for, split by bucket."""
    chosen = placed(spark, crawldb, snapshot).where(expr).select("_bucket", "_row")

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        gathered = list(batches)
        rows = pa.Table.from_batches(gathered) if gathered else None
        if rows is None or rows.num_rows == 0:
            return
        table = pa.table([rows["_row"]], schema=MATCHING)
        file = write_split(scratch, attempt_name("matching"), table, rows["_bucket"].to_numpy())
        yield pa.RecordBatch.from_pydict(
            {"path": [file.path], "rows": [list(file.rows.items())]},
            schema=pa.schema([("path", pa.string()), ("rows", pa.map_(pa.int32(), pa.int64()))]),
        )

    try:
        found = chosen.mapInArrow(write, "path STRING, rows MAP<INT, BIGINT>").collect()
    except PySparkException as error:
        raise UsageError(f"--expr {expr!r} failed: {_reason(error)}") from error
    return [SplitFile(row["path"], dict(row["rows"])) for row in found]


def placed(spark: SparkSession, crawldb: Folder, snapshot: Snapshot) -> DataFrame:
    """The CrawlDb as a DataFrame, one task a bucket, each row with its place."""
    names = [(file.bucket, file.path) for file in snapshot.files]
    tasks = spark.createDataFrame(names, "bucket INT, path STRING").repartition(
        max(1, len(names)), "bucket"
    )
    labels = pa.array([status_label(code) for code in range(128)])

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in batch.to_pylist():
                yield from _read(crawldb, BucketFile(row["bucket"], row["path"], 0, 0), labels)

    return tasks.mapInArrow(read, _PLACED.spark_ddl)


def _read(crawldb: Folder, file: BucketFile, labels: pa.Array) -> Iterator[pa.RecordBatch]:
    start = 0
    with open_table(crawldb, file.path) as source:
        for rows in each_group(source):
            size = rows.num_rows
            place = CRAWLDB.names.index("status")
            rows = rows.set_column(place, "status", labels.take(rows["status"].combine_chunks()))
            rows = rows.append_column("_bucket", pa.array(np.full(size, file.bucket, np.int32)))
            rows = rows.append_column(
                "_row", pa.array(np.arange(start, start + size, dtype=np.int32))
            )
            start += size
            for name in ("fetch_time", "modified_time"):
                # Spark's timestamps are in microseconds, and it takes no others
                place = rows.column_names.index(name)
                rows = rows.set_column(place, name, rows[name].cast(pa.timestamp("us", tz="UTC")))
            yield from rows.combine_chunks().to_batches()
