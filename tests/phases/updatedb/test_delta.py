from __future__ import annotations

from functools import partial
from itertools import chain
from operator import itemgetter
from pathlib import Path

import numpy as np
import pytest

from crawl.model.arrow import strings
from crawl.model.datum import CrawlDatum
from crawl.model.records import to_table
from crawl.model.status import Status
from crawl.phases.updatedb.tasks import delta
from crawl.phases.updatedb.tasks.delta import (
    UPDATES,
    DeltaBundle,
    DeltaFile,
    SendDeltaJob,
    bundles,
    send_delta,
)
from crawl.phases.updatedb.tasks.links import DELTA
from crawl.storage.bucketed import write_bucketed
from crawl.storage.folder import Folder
from crawl.storage.layout import bucket_of
from crawl.tables import ranges
from crawl.tables.exchange import Received
from crawl.tables.ranges import NewRows
from crawl.tables.renormalize import StoredRecords
from crawl.tables.runner import InProcess
from crawl.tables.slices import Router

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


def sent(
    folder: Folder, bundled: list[DeltaBundle], *, combines: bool = False
) -> dict[int, Received]:
    """What the buckets receive of the files."""
    job = SendDeltaJob(StoredRecords(folder, Router(BUCKETS)), combines)
    exchange = InProcess().exchange(partial(send_delta, job), bundled, BUCKETS, "send")
    tasks = [(bucket, bucket) for bucket in range(BUCKETS)]
    return dict(exchange.run(_with_number, tasks, "receive"))


def _with_number(bucket: int, received: Received) -> tuple[int, Received]:
    return bucket, received


def test_every_row_is_sent_to_its_bucket_in_the_order_of_the_files(tmp_path: Path) -> None:
    folder = Folder(str(tmp_path / "files"))
    files = written(folder, 3)
    alone = sent(folder, [DeltaBundle((file,)) for file in files])
    together = sent(folder, [DeltaBundle((files[0],)), DeltaBundle(tuple(files[1:]))])
    total = 0
    for bucket, received in together.items():
        rows = received.rows(UPDATES)
        assert rows.schema.equals(DELTA)
        assert rows.to_pylist() == alone[bucket].rows(UPDATES).to_pylist()
        assert rows["origin"].to_pylist() == rows["retries"].to_pylist()
        assert (np.diff(rows["origin"].to_numpy()) >= 0).all()
        assert {bucket_of(host, BUCKETS) for host in strings(rows["host"])} <= {bucket}
        total += rows.num_rows
    assert total == 36


def test_files_without_rows(tmp_path: Path) -> None:
    folder = Folder(str(tmp_path))
    write_bucketed(folder, "none.parquet", to_table([]), BUCKETS)
    bundle = DeltaBundle((DeltaFile(folder, "none.parquet", 0, 0),))
    for combines in (True, False):
        received = sent(folder, [bundle], combines=combines)
        assert not any(each.has(UPDATES) for each in received.values())


def test_links_of_a_file_travel_as_one_row(tmp_path: Path) -> None:
    folder = Folder(str(tmp_path))
    links = [("http://a.org/", "a.org", CrawlDatum(Status.LINKED, 1, score=n)) for n in (1, 2, 3)]
    files = []
    for number, link in enumerate(links):
        piece = write_bucketed(folder, f"{number}.parquet", to_table([link, link]), BUCKETS)
        files.append(DeltaFile(folder, piece.path, piece.rows, number))
    bucket = bucket_of("a.org", BUCKETS)
    bundle = DeltaBundle(tuple(files))
    rows = sent(folder, [bundle], combines=True)[bucket].rows(UPDATES).to_pylist()
    found = [(row["origin"], row["score"], row["more"]) for row in rows]
    assert found == [(0, 1.0, [1.0]), (1, 2.0, [2.0]), (2, 3.0, [3.0])]
    assert sent(folder, [bundle])[bucket].row_count(UPDATES) == 6


def test_a_delta_of_any_size_is_read_in_ranges(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Folder(str(tmp_path))
    bundle = DeltaBundle(tuple(written(folder, 3)))
    received = sent(folder, [bundle])[bucket_of("h1.org", BUCKETS)]
    monkeypatch.setattr(ranges, "_MAX_BYTES", 300)
    parts = list(NewRows.received(received, UPDATES, "url").ranges())
    assert len(parts) > 2
    key = itemgetter("url", "origin")
    found = chain(*(part.rows.to_pylist() for part in parts))
    assert sorted(found, key=key) == sorted(received.rows(UPDATES).to_pylist(), key=key)


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
