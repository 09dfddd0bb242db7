"""Helpers of the tests of stores: child processes, writers of snapshots, every call of a folder."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest

from crawl.clock import SystemClock
from crawl.errors import StorageError
from crawl.model.report import Report
from crawl.storage.folder import Folder
from crawl.storage.manifest import BucketFile
from crawl.storage.snapshot import Dataset

NOW = 1_800_000_000_000
MIB = 1 << 20
HEAD = "import os, sys\nfrom crawl.storage.folder import Folder\n"


def in_child(code: str, *arguments: str) -> str:
    """What Python code prints in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", HEAD + code, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def error_line(call: Callable[[], object]) -> str:
    """The one line that the call fails with."""
    with pytest.raises(StorageError) as found:
        call()
    line = str(found.value)
    assert "\n" not in line
    return line


def each_call(folder: Folder) -> list[Callable[[], object]]:
    def write_one() -> None:
        with folder.open_write("x") as stream:
            stream.write(b"1")

    return [
        lambda: folder.read("x"),
        lambda: folder.write("x", b""),
        lambda: folder.create("x", b""),
        lambda: folder.delete("x"),
        lambda: folder.names(),
        lambda: folder.files(),
        lambda: folder.size("x"),
        lambda: folder.exists("x"),
        lambda: folder.open_read("x").__enter__(),
        write_one,
    ]


def publish(dataset: Dataset, data: bytes) -> str | None:
    """Publishes a snapshot of one file; returns from whom the lock was taken over."""
    clock = SystemClock()
    with dataset.writing("test", clock, stale_after_ms=1e9, heartbeat_s=3600) as writing:
        path = f"{writing.place}/part-00000-{data.decode()}.parquet"
        with writing.folder.open_write(path) as stream:
            stream.write(data)
        files = [BucketFile(0, path, 1, len(data))]
        writing.publish(files, Report("test", NOW, ""), buckets=1, keep=2)
        return writing.lock.took_over


def content(dataset: Dataset) -> bytes | None:
    """The content of the file of the last snapshot."""
    (file,) = dataset.require_current().files
    return dataset.folder.read(file.path)
