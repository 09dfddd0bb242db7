"""How much memory a task needs that sends many blocks, and one that receives them: the peak of its
Python process, with its own rows and all, against a bound that does not depend on their number."""

from __future__ import annotations

import argparse
import os
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from crawl.config import Config
from crawl.tables.exchange import Outbox, Received, RowKind

BLOBS = RowKind("blobs", pa.schema([pa.field("blob", pa.binary(), False)]))
DESTINATIONS = 16
ROW_BYTES, ROWS_AT_ONCE = 20_000, 200
MAX_MIB = 400


def bench(megabytes: int) -> bool:
    """Prints what sender and receivers needed; whether both stay below the bound."""
    from crawl.spark.session import open_session
    from crawl.spark.tasks import SparkRunner

    here = Path(__file__).resolve().parent
    # the workers load this file, too
    path = {"spark.executorEnv.PYTHONPATH": f"{here.parents[1]}{os.pathsep}{here}"}
    spark = open_session("exchange-memory", Config.of(path), master="local[1]")
    try:
        runner = SparkRunner(spark, quiet=True)
        sent = runner.exchange(partial(_send, megabytes), [0], DESTINATIONS, "bench: send")
        sent.results()
        # one core has one worker, which is asked when its rows have gone to the JVM
        (sender,) = runner.run(_peak, [0], "bench: peak")
        found = sent.run(_count, [(place, None) for place in range(DESTINATIONS)], "bench: read")
        (both,) = runner.run(_peak, [0], "bench: peak")
    finally:
        spark.stop()
    assert sum(found) == len(range(0, megabytes * 1_000_000, ROW_BYTES * ROWS_AT_ONCE)) * 200
    is_met = both <= MAX_MIB
    print(
        f"{megabytes:,} MB of blocks: a sender needs {sender} MiB, with its receivers {both} MiB"
        f"\n  {'met' if is_met else 'MISSED'}: goal {MAX_MIB} MiB"
    )
    return is_met


def _send(megabytes: int, task: int, outbox: Outbox) -> None:
    rng = np.random.default_rng(task)
    for _ in range(0, megabytes * 1_000_000, ROW_BYTES * ROWS_AT_ONCE):
        blobs = [rng.bytes(ROW_BYTES) for _ in range(ROWS_AT_ONCE)]
        rows = pa.table([blobs], schema=BLOBS.schema)
        outbox.send(BLOBS, rows, rng.integers(0, DESTINATIONS, ROWS_AT_ONCE))


def _count(task: None, received: Received) -> int:
    return sum(batch.num_rows for batch in received.batches(BLOBS))


def _peak(task: int) -> int:
    """Runs in the worker: the most memory that it has needed so far, in MiB."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    (line,) = [each for each in lines if each.startswith("VmHWM:")]
    return int(line.split()[1]) >> 10


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=2_000, help="of blocks (default: 2000)")
    return 0 if bench(parser.parse_args().megabytes) else 1


if __name__ == "__main__":
    raise SystemExit(main())
