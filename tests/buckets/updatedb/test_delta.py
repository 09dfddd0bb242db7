from __future__ import annotations

from functools import partial
from itertools import chain
from operator import itemgetter
from pathlib import Path

import pyarrow as pa
import pytest

from crawl.buckets import ranges
from crawl.buckets.exchange import NOTHING, Received
from crawl.buckets.renormalize import StoredRecords
from crawl.buckets.runner import InProcess
from crawl.buckets.slices import Router, Slice
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
from crawl.model.arrow import strings
from crawl.model.datum import CrawlDatum
from crawl.model.records import to_table
from crawl.model.status import Status
from crawl.storage.bucketed import write_bucketed
from crawl.storage.folder import Folder
from crawl.storage.layout import bucket_of
from crawl.storage.manifest import BucketFile

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
    job = SendDeltaJob(StoredRecords(folder, Router(BUCKETS)))
    exchange = InProcess().exchange(partial(send_delta, job), bundled, BUCKETS, "send")
    tasks = [(bucket, bucket) for bucket in range(BUCKETS)]
    return dict(exchange.run(_with_number, tasks, "receive"))


def rows_of(delta: SegmentDelta, base: Slice, received: Received = NOTHING) -> pa.Table:
    """What a slice is told, which fits into memory."""
    (everything,) = delta.rows_of(base, BUCKETS, received).ranges()
    assert everything.end is None
    return everything.rows


def _with_number(bucket: int, received: Received) -> tuple[int, Received]:
    return bucket, received


def test_a_bucket_is_the_same_read_or_sent(tmp_path: Path) -> None:
    folder = Folder(str(tmp_path / "files"))
    files = written(folder, 3)
    received = sent(folder, [DeltaBundle((files[0],)), DeltaBundle(tuple(files[1:]))])
    total = 0
    for bucket in range(BUCKETS):
        read = rows_of(SegmentDelta(files), Slice(bucket, bucket))
        again = rows_of(SegmentDelta(), Slice(bucket, bucket), received[bucket])
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
    assert rows_of(SegmentDelta([file]), Slice(0, 0)).num_rows == 0


def test_a_slice_reads_the_rows_of_its_urls_alone(tmp_path: Path) -> None:
    folder = Folder(str(tmp_path))
    files = written(folder, 3)
    bucket = bucket_of("h1.org", BUCKETS)
    urls = sorted(strings(rows_of(SegmentDelta(files), Slice(bucket, bucket))["url"]))
    middle = urls[len(urls) // 2]
    file = BucketFile(bucket, "", 1, 1, middle)
    lower = Slice(bucket, bucket, is_whole=False, end=middle)
    upper = Slice(bucket + 1, bucket, (file,), place=1, is_whole=False)
    found = [strings(rows_of(SegmentDelta(files), each)["url"]) for each in (lower, upper)]
    assert max(found[0]) < middle == min(found[1])
    assert sorted([*found[0], *found[1]]) == urls


def test_a_delta_of_any_size_is_read_in_ranges(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Folder(str(tmp_path))
    delta_files = SegmentDelta(written(folder, 3))
    base = Slice(0, bucket_of("h1.org", BUCKETS))
    whole = rows_of(delta_files, base).to_pylist()
    monkeypatch.setattr(ranges, "_MOST_BYTES", 300)
    parts = list(delta_files.rows_of(base, BUCKETS, NOTHING).ranges())
    assert len(parts) > 2
    key = itemgetter("url", "origin")
    assert sorted(chain(*(part.rows.to_pylist() for part in parts)), key=key) == sorted(
        whole, key=key
    )


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
