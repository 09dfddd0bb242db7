"""Every storage test runs on a disk, in memory, on an S3 server and on an HDFS."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from crawl.storage import lock as lock_module
from crawl.storage import lock_owner
from crawl.storage.folder import Folder
from crawl.testing.clock import ManualClock
from tests.storage import s3_server
from tests.storage.hdfs_cluster import HdfsCluster
from tests.storage.locks import NOW
from tests.storage.s3_server import S3Server


@pytest.fixture(scope="session")
def s3() -> Iterator[S3Server]:
    """One server for all tests; everyone has a bucket of its own."""
    with s3_server.running() as server:
        yield server


PLACES = [
    "file",
    "memory",
    pytest.param("s3", marks=pytest.mark.cluster),
    pytest.param("hdfs", marks=pytest.mark.cluster),
]


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Folder]:
    """An empty folder on each kind of file system."""
    if request.param == "s3":
        server: S3Server = request.getfixturevalue("s3")
        patched: pytest.MonkeyPatch = request.getfixturevalue("monkeypatch")
        for name, value in server.variables().items():
            patched.setenv(name, value)
        root = server.new_bucket()
    elif request.param == "hdfs":
        cluster: HdfsCluster = request.getfixturevalue("hdfs")
        root = cluster.new_folder()
    else:
        root = str(tmp_path) if request.param == "file" else f"memory://{uuid.uuid4().hex}"
    yield Folder(root).child("place")
    if request.param == "memory":
        # shared by all tests, and slow when it is full
        Folder(root).delete("")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOW)


@pytest.fixture
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has a torn lock be believed at once, without a pause."""
    monkeypatch.setattr(lock_module, "_TORN_PAUSE_S", 0.0)


class Lives:
    """Which of its lives this process is in, as far as locks can tell."""

    def __init__(self) -> None:
        self._number = 0

    def end(self) -> None:
        """Whatever this process holds now was left by a process that is no more."""
        self._number += 1

    def started(self, pid: int) -> str:
        return f"life {self._number}"


@pytest.fixture
def lives(monkeypatch: pytest.MonkeyPatch, no_pause: None) -> Lives:
    found = Lives()
    monkeypatch.setattr(lock_owner, "_process_started", found.started)
    return found
