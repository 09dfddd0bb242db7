"""An executor of a real cluster dies between the senders and the receivers of an exchange: the
rows that it held are sent again, and no others."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.cluster.standalone import (
    Daemon,
    running_cluster,
    session_members,
    started,
    wait_for,
)

pytestmark = [pytest.mark.cluster, pytest.mark.slow(seconds=60), pytest.mark.timeout(900)]

SENDERS, DESTINATIONS, ROWS = 8, 4, 2_000
ROOT = Path(__file__).parents[2]

SCRIPT = """
import json, os, sys, time, uuid
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from crawl.buckets.exchange import RowKind
from crawl.config import Config
from crawl.spark.session import open_session
from crawl.spark.tasks import SparkRunner

master, folder = sys.argv[1], Path(sys.argv[2])
senders, destinations, rows = map(int, sys.argv[3:])
KIND = RowKind("numbers", pa.schema([pa.field("n", pa.int64(), False)]))


def send(folder, kind, rows, destinations, sender, outbox):
    (Path(folder) / f"call-{sender}-{os.getppid()}-{uuid.uuid4().hex}").touch()
    numbers = np.arange(sender * rows, (sender + 1) * rows)
    outbox.send(kind, pa.table([numbers], schema=kind.schema), numbers % destinations)
    return sender


def read(kind, place, received):
    return received.rows(kind)["n"].to_numpy().tolist()


settings = {
    # on one machine Spark would read a dead neighbour's files from its disk
    "spark.shuffle.readHostLocalDisk": "false",
    "spark.executor.memory": "512m",
    # a lost executor is told of at once by its worker's master; blocks are not waited for
    "spark.shuffle.io.maxRetries": "1",
    "spark.shuffle.io.retryWait": "1s",
    "spark.ui.enabled": "false",
}
spark = open_session("exchange", Config.of(settings), master=master, log_file=folder / "driver.log")
runner = SparkRunner(spark, quiet=True)
sent = runner.exchange(
    partial(send, str(folder), KIND, rows, destinations), range(senders), destinations, "t: send"
)
assert sent.results() == list(range(senders))
(folder / "sent").touch()
while not (folder / "go").exists():
    time.sleep(0.05)
found = sent.run(partial(read, KIND), [(n, n) for n in range(destinations)], "t: read")
print(json.dumps(found))
spark.stop()
"""


def calls(folder: Path) -> list[tuple[int, int]]:
    """The sender and the worker process's parent of every call so far."""
    found = [path.name.split("-") for path in folder.glob("call-*")]
    return sorted((int(sender), int(parent)) for _, sender, parent, _ in found)


def kill_executors(worker: Daemon) -> None:
    """Not the worker itself: with that Spark would give up all rows of its host, which here is
    that of the other one, too."""
    for pid in session_members(worker.process.pid):
        if b"CoarseGrainedExecutorBackend" in Path(f"/proc/{pid}/cmdline").read_bytes():
            os.kill(pid, signal.SIGKILL)


def test_only_what_a_lost_executor_held_is_sent_again(tmp_path: Path) -> None:
    place = tmp_path / "driver"
    place.mkdir()
    (place / "script.py").write_text(SCRIPT)
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    with running_cluster(tmp_path) as cluster:
        sizes = map(str, (SENDERS, DESTINATIONS, ROWS))
        command = [sys.executable, "script.py", cluster.master, str(place), *sizes]
        driver = started(command, place, environment)
        try:
            wait_for(lambda: (place / "sent").exists() or driver.process.poll() is not None, "rows")
            assert (place / "sent").exists(), driver.output[-3000:]
            before = calls(place)
            assert [sender for sender, _ in before] == list(range(SENDERS))
            lost = cluster.workers[0]
            held = {sender for sender, parent in before if lost.is_home_of(parent)}
            assert 0 < len(held) < SENDERS  # both have worked
            kill_executors(lost)
            time.sleep(1.0)
            (place / "go").touch()
            assert driver.finish() == 0, driver.output[-3000:]
        finally:
            driver.kill()
    found = json.loads((driver.out).read_text().splitlines()[-1])
    for destination, numbers in enumerate(found):
        assert numbers == list(range(destination, SENDERS * ROWS, DESTINATIONS))
    again = [sender for sender, _ in calls(place)]
    for sender in range(SENDERS):
        assert (again.count(sender) > 1) == (sender in held), (sender, held, again)
