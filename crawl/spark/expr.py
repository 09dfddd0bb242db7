"""`--expr`: a Spark SQL condition over the CrawlDb or the HostDb, as the rows that it holds for."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from functools import partial

import numpy as np
import pyarrow as pa
from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from crawl.errors import CrawlError, UsageError
from crawl.model.table import Table
from crawl.model.tables import CRAWLDB
from crawl.spark.exchange import RddSource
from crawl.spark.expr_guard import refuse_forbidden
from crawl.spark.query_blocks import Send, blocks_of
from crawl.spark.source import stored_rows
from crawl.spark.source_tables import CRAWLDB_COLUMNS
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.manifest import Snapshot
from crawl.tables.exchange import Outbox
from crawl.tables.matching import MATCHING
from crawl.tables.slices import RowPlaces, Slices

# it prints every wrong expression as JSON to stderr; `check_expression` says it in one line
logging.getLogger("SQLQueryContextLogger").disabled = True


def check_expression(spark: SparkSession, expr: str, table: Table = CRAWLDB_COLUMNS) -> str:
    """The expression, or UsageError with Spark's reason in one line."""
    checked_schema(spark, "--expr", expr, table, lambda rows: rows.where(expr))
    return expr


def checked_schema(
    spark: SparkSession, name: str, expr: str, table: Table, plan: Callable[[DataFrame], DataFrame]
) -> StructType:
    """The columns of what `plan` makes of the table by an expression; UsageError with Spark's
    reason in one line, where it makes none."""
    refuse_forbidden(name, expr)
    try:
        return plan(spark.createDataFrame([], table.spark_ddl)).schema
    except (ParseException, AnalysisException) as error:
        reason, columns = reason_of(str(error)), ", ".join(table.names)
        raise UsageError(f"{name} {expr!r}: {reason} (columns: {columns})") from error


def reason_of(message: str) -> str:
    """The first sentence of what Spark says, without its codes and query positions."""
    text = re.sub(r"\s+", " ", message.strip().split("\n")[0])
    text = re.sub(r"^\[[A-Z_.0-9]+\]\s*", "", text)
    return text.split(" SQLSTATE")[0].rstrip(" .")


def matching_rows(
    spark: SparkSession,
    crawl_dir: CrawlDir,
    snapshot: Snapshot,
    expr: str,
    slices: Slices | None = None,
    *,
    table: str = CRAWLDB.name,
) -> RddSource:
    """The rows that the expression holds for, sent to their slices when somebody receives; without
    `slices` each file is one."""
    places = (slices or Slices.of(snapshot, snapshot.buckets)).row_places
    records = stored_rows(spark, crawl_dir.folder.address, table, snapshot.number)
    matching = records.where(expr).select("_bucket", "_row")
    return evaluated(f"--expr {expr!r}", lambda: matching, partial(send_matching, places))


def evaluated(what: str, query: Callable[[], DataFrame], send: Send) -> RddSource:
    """The rows of a query with an expression, which `what` names to the user, as they are sent."""
    try:
        # plans the query, which works out what is constant in it
        return RddSource(blocks_of(query(), send), partial(explain_failure, what))
    except PySparkException as error:
        raise UsageError(f"{what} failed: {reason_of(str(error))}") from error


def explain_failure(what: str, message: str) -> CrawlError | None:
    """What a failure while an expression is evaluated means to the user."""
    if "SQLSTATE" not in message:
        return None
    reason = re.search(r"\[[A-Z_.0-9]+\][^\n]*SQLSTATE", message)
    return UsageError(f"{what} failed: {reason_of(reason.group() if reason else message)}")


def send_matching(places: RowPlaces, rows: pa.Table, outbox: Outbox) -> None:
    """Sends rows of the table, by bucket and number there, to their slices."""
    bucket, row = (rows[name].to_numpy().astype(np.int64) for name in ("_bucket", "_row"))
    slices, numbers = places.of(bucket, row)
    outbox.send(MATCHING, pa.table([numbers], schema=MATCHING.schema), slices)
