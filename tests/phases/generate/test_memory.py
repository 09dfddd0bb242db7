"""A host of any size is collected, dealt and listed in bounded memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from crawl.model.arrow import strings
from crawl.model.records import to_table
from crawl.model.status import Status
from crawl.model.tables import CRAWLDB
from crawl.phases.generate.tasks import lists
from crawl.phases.generate.tasks.chains import LISTS
from crawl.phases.generate.tasks.lists import ListTask, write_list
from crawl.storage.folder import Folder
from crawl.storage.parquet import open_writer
from crawl.tables.exchange import Outbox, Received
from tests.phases.made import datum

ROWS = 400_000
MAX_MIB = 160
"""It is some 90; whoever holds all records needs some 460."""

SELECT = """
import sys
from pathlib import Path
import numpy as np
import pyarrow as pa
from crawl.tables import exchange
from crawl.tables.exchange import Outbox, Received
from crawl.phases.generate.tasks import collect, lists
from crawl.phases.generate.tasks.balance import balance_parts
from crawl.phases.generate.tasks.chains import ChainsJob, count_chains, deal_shard
from crawl.phases.generate.tasks.shards import ASSIGNED
from crawl.tables.slices import Slice
from crawl.storage.folder import Folder
from crawl.storage.manifest import BucketFile
from crawl.urls.partition import PartitionMode


def peak_mib():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) >> 10


folder, rows = Folder(sys.argv[1]), int(sys.argv[2])
exchange._BLOCK_ROWS = collect._ROWS_AT_ONCE = 1 << 14
exchange._MAX_IN_MEMORY, lists._MAX_BYTES = 4 << 20, 8 << 20
pa.set_cpu_count(1)


def passed(outbox):
    return Received(block for _, block in outbox.blocks)


assigned = Outbox(0)
numbers = np.arange(rows, dtype=np.int32)
assigned.send_all(ASSIGNED, pa.table([numbers, np.zeros(rows, np.int16)], ASSIGNED.schema), 0)
before = peak_mib()
job = collect.CollectJob(folder, 0, PartitionMode.BY_HOST, lambda host: None, 1)
collected = Outbox(0)
base = Slice(0, 0, (BucketFile(0, "bucket.parquet", rows, 1, ""),))
names = collect.collect_slice(job, base, passed(assigned), collected).names
chains = ChainsJob(1, 8, 10, 1.0, 0.25)
shard = passed(collected)
balance = balance_parts(
    [count_chains(chains, 0, shard)], names, ["s"], 1, threads=1, latency_s=0.25
)
dealt = Outbox(0)
deal_shard(chains, balance.tasks[0], shard, dealt)
written = lists.write_list(1 << 14, lists.ListTask(folder, 0, 0), passed(dealt))
print(peak_mib() - before, balance.predictions[0]["longest_chain"], written.rows, written.path)
"""


@pytest.mark.exhaustive
@pytest.mark.slow(seconds=10)
def test_a_giant_host_without_a_cap(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    folder = Folder(str(tmp_path))
    with open_writer(folder, "bucket.parquet", CRAWLDB.schema, 1 << 14) as writer:
        for start in range(0, ROWS, 1 << 16):
            writer.write(_records(min(1 << 16, ROWS - start), start, rng))
    done = subprocess.run(
        [sys.executable, "-c", SELECT, str(tmp_path), str(ROWS)],
        capture_output=True,
        text=True,
        check=True,
    )
    peak, longest, rows, path = done.stdout.split()
    assert (longest, int(rows)) == ("giant.org", ROWS)
    assert int(peak) < MAX_MIB
    # every record is there once, and the list is written by row groups in another order
    file = pq.ParquetFile(tmp_path / path)
    assert file.num_row_groups > ROWS >> 15
    numbers = file.read(["fetch_interval"])["fetch_interval"].to_numpy()
    assert np.array_equal(np.sort(numbers), np.arange(ROWS))
    apart = np.abs(np.diff(numbers[:10_000].astype(np.int64)))
    assert apart.mean() > ROWS / 10


def _records(count: int, start: int, rng: np.random.Generator) -> pa.Table:
    tails: list[Any] = [
        pa.array(rng.integers(0, 1 << 62, count)).cast(pa.string()) for _ in range(7)
    ]
    urls: Any = pc.binary_join_element_wise("http://giant.org", *tails, "/")
    columns = {
        "url": urls,
        "host": pa.array(["giant.org"] * count),
        "status": np.full(count, int(Status.DB_UNFETCHED), np.int8),
        "fetch_interval": np.arange(start, start + count, dtype=np.int32),
        "score": rng.random(count, dtype=np.float32),
        "signature": tails[0].cast(pa.binary()),
        "metadata": pa.array([[("k", "v")]] * count, CRAWLDB.schema.field("metadata").type),
    }
    zeros = pa.array(np.zeros(count, np.int64))
    made = [
        pa.array(columns[field.name], field.type)
        if field.name in columns
        else zeros.cast(field.type)
        for field in CRAWLDB.schema
    ]
    return pa.Table.from_arrays(made, schema=CRAWLDB.schema)


def test_a_list_on_heaps_has_every_row_once_in_an_order_by_chance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outbox = Outbox(0)
    urls = [f"http://h.org/{number:04d}" for number in range(2000)]
    for start in range(0, 2000, 100):
        rows = to_table((url, "h.org", datum()) for url in urls[start : start + 100])
        outbox.send_all(LISTS, rows, 0)
    monkeypatch.setattr(lists, "_MAX_BYTES", 8000)
    monkeypatch.setattr(lists, "_HEAPS", 3)  # so that heaps are parted again
    folder = Folder(str(tmp_path))
    found = []
    for part in (0, 0, 1):
        received = Received(block for _, block in outbox.blocks)
        file = write_list(100, ListTask(folder, part, part), received)
        assert file.rows == 2000
        found.append(strings(pq.read_table(tmp_path / file.path)["url"]))
    assert found[0] == found[1] != found[2]  # the same again where a task is tried again
    assert sorted(found[0]) == sorted(found[2]) == urls
    thousandth = [urls.index(url) for url in found[0][:200]]
    assert 700 < np.mean(thousandth) < 1300
