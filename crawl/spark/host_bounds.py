"""`generate.max.count.expr` and `generate.fetch.delay.expr`: Spark SQL over the columns of the
HostDb, a value for each host, sent to the CrawlDb's slices."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import NumericType

from crawl.config.properties import GENERATE_FETCH_DELAY_EXPR, GENERATE_MAX_COUNT_EXPR
from crawl.errors import UsageError
from crawl.model.arrow import as_array
from crawl.model.derived_tables import HOSTDB
from crawl.spark.exchange import RddSource
from crawl.spark.expr import checked_schema, explain_failure, reason_of
from crawl.spark.query_blocks import blocks_of
from crawl.spark.source import stored_rows
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.manifest import Snapshot
from crawl.tables.exchange import BlockSource, Outbox
from crawl.tables.slices import Router

Send = Callable[[Router, "pa.Array[Any]", "pa.Array[Any]", "pa.Array[Any]", Outbox], None]
"""Sends hosts with their bounds and pauses to the slices that need them."""


def host_bounds(
    spark: SparkSession, directory: CrawlDir, given: Mapping[str, str], send: Send
) -> Callable[[Snapshot, Router], BlockSource] | None:
    """Evaluates the expressions, by the names of their properties, over a HostDb; None where there
    is none. A wrong one is UsageError with Spark's reason in one line."""
    for name, expr in given.items():
        _check(spark, name, expr)
    if not given:
        return None
    return partial(_evaluate, spark, directory, given, send)


def values_of_host(
    spark: SparkSession, directory: CrawlDir, given: Mapping[str, str], hostdb: Snapshot, host: str
) -> tuple[float | None, float | None]:
    """What the expressions give for one host: its bound and its pause in ms. Raises UsageError as
    `host_bounds` does."""
    for name, expr in given.items():
        _check(spark, name, expr)
    what = " or ".join(f"{name} {expr!r}" for name, expr in given.items())
    try:
        values = _values(spark, directory, given, hostdb)
        found = values.where(values["host"] == host).collect()
    except PySparkException as error:
        raise explain_failure(what, str(error)) or UsageError(
            f"{what} failed: {reason_of(str(error))}"
        ) from error
    return (found[0][1], found[0][2]) if found else (None, None)


def _check(spark: SparkSession, name: str, expr: str) -> None:
    columns = ("host", f"({expr}) AS value")
    schema = checked_schema(spark, name, expr, HOSTDB, lambda hosts: hosts.selectExpr(*columns))
    kind = schema["value"].dataType
    if not isinstance(kind, NumericType):
        raise UsageError(f"{name} {expr!r} gives {kind.simpleString()}, not a number")


def _evaluate(
    spark: SparkSession,
    directory: CrawlDir,
    given: Mapping[str, str],
    send: Send,
    hostdb: Snapshot,
    router: Router,
) -> RddSource:
    what = " or ".join(f"{name} {expr!r}" for name, expr in given.items())
    try:
        values = _values(spark, directory, given, hostdb)
        sent = blocks_of(values, partial(_send, send, router))
    except PySparkException as error:
        raise UsageError(f"{what} failed: {reason_of(str(error))}") from error
    return RddSource(sent, partial(explain_failure, what))


def _values(
    spark: SparkSession, directory: CrawlDir, given: Mapping[str, str], hostdb: Snapshot
) -> DataFrame:
    """Of each host its bound and its pause; NULL where no expression says."""
    columns = [
        f"CAST(({given.get(each.name, 'NULL')}) AS DOUBLE) AS {alias}"
        for each, alias in (
            (GENERATE_MAX_COUNT_EXPR, "max_count"),
            (GENERATE_FETCH_DELAY_EXPR, "delay_ms"),
        )
    ]
    hosts = stored_rows(spark, directory.folder.address, HOSTDB.name, hostdb.number)
    return hosts.selectExpr("host", *columns)


def _send(send: Send, router: Router, rows: pa.Table, outbox: Outbox) -> None:
    host, bound, pause = (as_array(rows.column(place)) for place in range(3))
    send(router, host, bound, pause, outbox)
