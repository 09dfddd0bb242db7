from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from crawl.buckets.exchange import NOTHING, Received
from crawl.buckets.renormalize import StoredRecords
from crawl.buckets.runner import InProcess
from crawl.buckets.updatedb import delta
from crawl.buckets.updatedb.delta import (
    DELTA,
    UPDATES,
    DeltaBundle,
    DeltaFile,
    SegmentDelta,
    SendDeltaJob,
    bundles,
    send_delta,
)
from crawl.errors import UsageError
from crawl.model.arrow import strings
from crawl.model.datum import CrawlDatum
from crawl.model.records import to_table
from crawl.model.status import Status
from crawl.storage.bucketed import write_bucketed
from crawl.storage.folder import Folder
from crawl.storage.layout import bucket_of

BUCKETS = 4


def written(folder: Folder, count: int) -> list[DeltaFile]:
    """Files of several hosts' links; each row names its file and place."""
    files = []
    for number in range(count):
        rows = to_table(
            (f"http://h{n}.org/{number}", f"h{n}.org", CrawlDatum(Status.LINKED, n, retries=number))
            for n in range(12)
        )
        piece = write_bucketed(folder, f"{number}.parquet", rows, BUCKETS)
        files.append(DeltaFile(folder, piece.path, piece.rows, origin=number))
    return files


def sent(folder: Folder, bundled: list[DeltaBundle]) -> dict[int, Received]:
    """What the buckets receive of the files."""
    job = SendDeltaJob(StoredRecords(folder, BUCKETS))
    exchange = InProcess().exchange(partial(send_delta, job), bundled, BUCKETS, "send")
    tasks = [(bucket, bucket) for bucket in range(BUCKETS)]
    return dict(exchange.run(_with_number, tasks, "receive"))


def _with_number(bucket: int, received: Received) -> tuple[int, Received]:
    return bucket, received


def test_a_bucket_is_the_same_read_or_sent(tmp_path: Path) -> None:
    folder = Folder(str(tmp_path / "files"))
    files = written(folder, 3)
    received = sent(folder, [DeltaBundle((files[0],)), DeltaBundle(tuple(files[1:]))])
    total = 0
    for bucket in range(BUCKETS):
        read = SegmentDelta(files=files).read(bucket, BUCKETS, NOTHING)
        again = SegmentDelta().read(bucket, BUCKETS, received[bucket])
        assert read.schema.equals(DELTA) and again.equals(read)
        assert read["origin"].to_pylist() == read["retries"].to_pylist()
        assert {bucket_of(host, BUCKETS) for host in strings(read["host"])} <= {bucket}
        total += read.num_rows
    assert total == 36


def test_files_without_rows(tmp_path: Path) -> None:
    folder = Folder(str(tmp_path))
    write_bucketed(folder, "none.parquet", to_table([]), BUCKETS)
    file = DeltaFile(folder, "none.parquet", 0, 0)
    received = sent(folder, [DeltaBundle((file,))])
    assert not any(each.has(UPDATES) for each in received.values())
    assert SegmentDelta(files=[file]).read(0, BUCKETS, NOTHING).num_rows == 0


def test_too_much_for_one_bucket_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delta, "_MOST_BYTES", 100)
    folder = Folder(str(tmp_path))
    bucket = bucket_of("h1.org", BUCKETS)
    with pytest.raises(UsageError, match=f"too much of bucket {bucket} at once .* rebucket"):
        SegmentDelta(files=written(folder, 3)).read(bucket, BUCKETS, NOTHING)


def test_bundles_are_bounded_and_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delta, "_ROWS_AT_ONCE", 10)
    files = [DeltaFile(Folder("x"), str(n), rows, n) for n, rows in enumerate([4, 6, 1, 50, 2, 3])]
    assert [[file.origin for file in bundle.files] for bundle in bundles(files)] == [
        [0, 1],
        [2],
        [3],
        [4, 5],
    ]
    assert list(bundles([])) == []
