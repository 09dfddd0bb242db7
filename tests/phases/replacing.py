"""A writer that publishes and deletes what was there, when a reader has just found it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import pytest

from crawl.model.report import Report
from crawl.storage.manifest import APPLIED, SORTED_BY, BucketFile, Snapshot
from crawl.storage.snapshot import Dataset, Transaction
from crawl.testing.clock import ManualClock
from tests.phases.made import NOW


def publish_again(dataset: Dataset) -> Snapshot:
    """The same rows in files of other names; the old ones are deleted, as with `gc --keep 1`."""
    with dataset.writing("test", ManualClock(NOW), stale_after_ms=1e9, heartbeat_s=60) as writing:
        base = writing.base
        assert base is not None
        return writing.publish(
            [_copied(writing, file) for file in base.files],
            Report("test", NOW, "", {}),
            buckets=base.buckets,
            keep=1,
            notes={
                name: note for name, note in base.notes.items() if name not in (APPLIED, SORTED_BY)
            },
            attached={
                name: [_copied(writing, file) for file in files]
                for name, files in base.attached.items()
            },
        )


def _copied(writing: Transaction, file: BucketFile) -> BucketFile:
    data = writing.folder.read(file.path)
    assert data is not None
    path = f"{writing.place}/{file.path.rpartition('/')[2]}"
    writing.folder.write(path, data)
    return replace(file, path=path)


@dataclass
class Replacing:
    """What is left to be done to a dataset."""

    left: int
    is_busy: bool = False


@contextmanager
def replaced(dataset: Dataset, times: int) -> Iterator[Replacing]:
    """Whoever looks for the dataset's current state gets one that is gone right then, the first
    `times` times."""
    state = Replacing(times)
    current = Dataset.current

    def find(self: Dataset) -> Snapshot | None:
        found = current(self)
        if self.folder == dataset.folder and state.left and not state.is_busy:
            state.left -= 1
            state.is_busy = True
            publish_again(dataset)
            state.is_busy = False
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Dataset, "current", find)
        yield state
