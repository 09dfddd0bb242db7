"""`generate.max.count.expr` and `generate.fetch.delay.expr`: Spark SQL over the columns of the
HostDb, a value for each host, sent to the CrawlDb's slices."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from operator import methodcaller
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
from crawl.spark.expr import checked_schema, evaluated, explain_failure, reason_of
from crawl.spark.source import stored_rows
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.manifest import Snapshot
from crawl.tables.exchange import BlockSource, Outbox
from crawl.tables.slices import Router

Send = Callable[[Router, "pa.Array[Any]", "pa.Array[Any]", "pa.Array[Any]", Outbox], None]
"""Sends hosts with their bounds and pauses to the slices that need them."""


def host_bounds(
    spark: SparkSession, directory: CrawlDir, expressions: Mapping[str, str], send: Send
) -> Callable[[Snapshot, Router], BlockSource] | None:
    """Evaluates the expressions, by the names of their properties, over a HostDb; None where there
    is none. A wrong one is UsageError with Spark's reason in one line."""
    what = _checked(spark, expressions)

    def evaluate(hostdb: Snapshot, router: Router) -> RddSource:
        values = partial(_values, spark, directory, expressions, hostdb)
        return evaluated(what, values, partial(_send, send, router))

    return evaluate if expressions else None


def values_of_host(
    spark: SparkSession,
    directory: CrawlDir,
    expressions: Mapping[str, str],
    hostdb: Snapshot,
    host: str,
) -> tuple[float | None, float | None]:
    """What the expressions give for one host: its bound and its pause in ms. Raises UsageError as
    `host_bounds` does."""
    what = _checked(spark, expressions)
    try:
        values = _values(spark, directory, expressions, hostdb)
        rows = values.where(values["host"] == host).collect()
    except PySparkException as error:
        raise explain_failure(what, str(error)) or UsageError(
            f"{what} failed: {reason_of(str(error))}"
        ) from error
    return (rows[0][1], rows[0][2]) if rows else (None, None)


def _checked(spark: SparkSession, expressions: Mapping[str, str]) -> str:
    """What the expressions are called in a message; UsageError for one that is wrong."""
    for name, expr in expressions.items():
        plan = methodcaller("selectExpr", "host", f"({expr}) AS value")
        kind = checked_schema(spark, name, expr, HOSTDB, plan)["value"].dataType
        if not isinstance(kind, NumericType):
            raise UsageError(f"{name} {expr!r} gives {kind.simpleString()}, not a number")
    return " or ".join(f"{name} {expr!r}" for name, expr in expressions.items())


def _values(
    spark: SparkSession, directory: CrawlDir, expressions: Mapping[str, str], hostdb: Snapshot
) -> DataFrame:
    """Of each host its bound and its pause; NULL where no expression says."""
    columns = [
        f"CAST(({expressions.get(each.name, 'NULL')}) AS DOUBLE) AS {alias}"
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
