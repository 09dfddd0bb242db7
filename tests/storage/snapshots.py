"""Snapshots of a few buckets, written and looked at."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from crawl.model.report import Report
from crawl.storage.folder import attempt_name
from crawl.storage.manifest import BucketFile, Snapshot
from crawl.storage.snapshot import Dataset, Transaction
from crawl.testing.clock import ManualClock

NOW = 1_800_000_000_000
BUCKETS = 4


@contextmanager
def writing(dataset: Dataset, *, steal_lock: bool = False) -> Iterator[Transaction]:
    with dataset.writing(
        "test", ManualClock(NOW), stale_after_ms=60_000, heartbeat_s=3600, steal_lock=steal_lock
    ) as transaction:
        yield transaction


def report(phase: str = "inject") -> Report:
    return Report(phase, NOW, "digest")


def write_bucket(transaction: Transaction, bucket: int, content: bytes) -> BucketFile:
    path = f"{transaction.place}/{attempt_name(f'part-{bucket:05d}')}"
    transaction.folder.write(path, content)
    return BucketFile(bucket, path, 1, len(content))


def publish(
    dataset: Dataset, buckets: dict[int, bytes], *, keep: int = 3, steal_lock: bool = False
) -> Snapshot:
    """Rewrites these buckets; the others are named again."""
    with writing(dataset, steal_lock=steal_lock) as transaction:
        written = [write_bucket(transaction, *item) for item in buckets.items()]
        base = transaction.base
        kept = [file for file in base.files if file.bucket not in buckets] if base else []
        files = [*kept, *written]
        return transaction.publish(files, report(), buckets=BUCKETS, keep=keep)


def content_of(dataset: Dataset, snapshot: Snapshot | None) -> dict[int, bytes | None]:
    files = snapshot.files if snapshot else ()
    return {file.bucket: dataset.folder.read(file.path) for file in files}


def named_files(dataset: Dataset) -> set[str]:
    """Everything that may lie in the dataset's folder when nobody writes."""
    named = {"CURRENT", "CURRENT.copy"}
    for number in dataset.timeline().numbers:
        folder = f"snapshots/{number:06d}"
        named |= {f"{folder}/{name}" for name in ("manifest.json", "manifest.json.copy")}
        named.add(f"{folder}/report.json")
        named |= {file.path for file in dataset.snapshot(number).files}
    return named
