"""`--expr`: a Spark SQL condition over the CrawlDb, as the rows that it holds for."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.sql import Row, SparkSession

from crawl.buckets.generate.scan import MATCHING
from crawl.errors import UsageError
from crawl.spark.progress import progress
from crawl.spark.source import FORMAT, register
from crawl.spark.source_tables import CRAWLDB_COLUMNS
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.folder import Folder
from crawl.storage.manifest import Snapshot
from crawl.storage.split import SplitFile, scratch_name, write_split

# it prints every wrong expression as JSON to stderr; `check_expression` says it in one line
logging.getLogger("SQLQueryContextLogger").disabled = True

_FORBIDDEN = re.compile(
    r"\b(reflect|java_method|try_reflect|select|assert_true|raise_error)\b", re.IGNORECASE
)


def check_expression(spark: SparkSession, expr: str) -> str:
    """The expression, or UsageError with Spark's reason in one line."""
    forbidden = _FORBIDDEN.search(expr)
    if forbidden:
        raise UsageError(f"--expr: {forbidden.group()!r} may not be used in an expression")
    try:
        condition = spark.createDataFrame([], CRAWLDB_COLUMNS.spark_ddl).where(expr)
        _ = condition.schema
    except (ParseException, AnalysisException) as error:
        columns = ", ".join(CRAWLDB_COLUMNS.names)
        raise UsageError(f"--expr {expr!r}: {_reason(error)} (columns: {columns})") from error
    return expr


def _reason(error: PySparkException) -> str:
    """The first sentence of what Spark says, without its codes and query positions."""
    text = re.sub(r"\s+", " ", str(error).strip().split("\n")[0])
    text = re.sub(r"^\[[A-Z_.0-9]+\]\s*", "", text)
    return text.split(" SQLSTATE")[0].rstrip(" .")


def matching_rows(
    spark: SparkSession, crawl_dir: CrawlDir, snapshot: Snapshot, expr: str, scratch: Folder
) -> list[SplitFile]:
    """The rows that the expression holds for, split by bucket."""
    register(spark)
    records = spark.read.format(FORMAT).option("snapshot", snapshot.number)
    chosen = records.load(crawl_dir.folder.address).where(expr).select("_bucket", "_row")

    def write(rows: Iterable[Row]) -> Iterator[SplitFile]:
        places = np.array([(row[0], row[1]) for row in rows], dtype=np.int32).reshape(-1, 2)
        if len(places):
            table = pa.table([places[:, 1]], schema=MATCHING)
            yield write_split(scratch, scratch_name("matching"), table, places[:, 0])

    try:
        with progress(spark, "expr", quiet=True):
            return chosen.rdd.mapPartitions(write).collect()
    except PySparkException as error:
        raise UsageError(f"--expr {expr!r} failed: {_reason(error)}") from error
