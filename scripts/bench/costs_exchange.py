"""What Spark adds to a row that one task sends to another: processor time of all processes, the
JVM's too, beside the same exchange within this process; and its bytes on the way."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import numpy as np
import process_tree
import pyarrow as pa

from crawl.config import Config
from crawl.phases.updatedb.tasks.delta import DELTA, UPDATES
from crawl.planning.costs import MeasuredCost
from crawl.tables.exchange import Outbox, Received
from crawl.tables.runner import InProcess, Runner
from crawl.telemetry.costs import cost_account

SENDERS, DESTINATIONS = 32, 64


def costs(rows: int, rounds: int) -> dict[str, MeasuredCost]:
    """By differences of exchanges of few rows and of many, on Spark and without it."""
    from crawl.spark.session import open_session
    from crawl.spark.tasks import SparkRunner

    few = rows // 8
    here = Path(__file__).resolve().parent
    # the workers load this file, too
    path = {"spark.executorEnv.PYTHONPATH": f"{here.parents[1]}{os.pathsep}{here}"}
    spark = open_session("costs", Config.of(path), master="local[2]")
    try:
        on_spark = SparkRunner(spark, quiet=True)
        _exchange(on_spark, few)  # workers that have loaded everything
        spark_many, spark_few = _best(on_spark, rows, rounds), _best(on_spark, few, rounds)
        here_many, here_few = _best(InProcess(), rows, rounds), _best(InProcess(), few, rounds)
        with cost_account() as account:
            _exchange(on_spark, rows)
        travelled = account.total.bytes_exchanged or 0
    finally:
        spark.stop()
    told = f"{rows:,} rows of links from {SENDERS} tasks to {DESTINATIONS}, by Spark and without"
    row = max(0.0, (spark_many - here_many) - (spark_few - here_few)) / (rows - few)
    task = max(0.0, spark_few - here_few - few * row) / (SENDERS + DESTINATIONS)
    return {
        "exchange_row_us": MeasuredCost(1e6 * row, told),
        "exchange_task_us": MeasuredCost(1e6 * task, told),
        "exchange_row_bytes": MeasuredCost(travelled / rows, told),
    }


def _best(runner: Runner, rows: int, rounds: int) -> float:
    return min(_spent(runner, rows) for _ in range(rounds))


def _spent(runner: Runner, rows: int) -> float:
    """Processor seconds of this process and all that it has started."""
    before = process_tree.cpu_s(os.getpid())
    _exchange(runner, rows)
    return process_tree.cpu_s(os.getpid()) - before


def _exchange(runner: Runner, rows: int) -> None:
    sent = runner.exchange(
        partial(_send, rows // SENDERS), range(SENDERS), DESTINATIONS, "bench: send"
    )
    found = sent.run(_count, [(place, None) for place in range(DESTINATIONS)], "bench: receive")
    assert sum(found) == rows // SENDERS * SENDERS


def _send(rows: int, task: int, outbox: Outbox) -> None:
    rng = np.random.default_rng(task)
    pages = rng.integers(0, 100_000, rows)
    hosts = rng.integers(0, 500, rows)
    links = {
        "url": [
            f"http://www.host{h}.example/a/page-{p}.html" for h, p in zip(hosts, pages, strict=True)
        ],
        "host": [f"www.host{host}.example" for host in hosts],
        "status": np.full(rows, 67, np.int8),
        "score": rng.random(rows, np.float32),
    }
    columns = []
    for field in DELTA:
        if field.name in links:
            columns.append(pa.array(links[field.name], field.type))
        elif pa.types.is_nested(field.type):
            columns.append(pa.array([[]] * rows, field.type))
        elif field.nullable:
            columns.append(pa.nulls(rows, field.type))
        else:
            columns.append(pa.array(np.zeros(rows, np.int64)).cast(field.type))
    outbox.send(UPDATES, pa.table(columns, schema=DELTA), hosts % DESTINATIONS)


def _count(task: None, received: Received) -> int:
    return received.rows(UPDATES).num_rows
