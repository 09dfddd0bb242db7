"""A file of an HDFS that lets it be closed before its last block was reported."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from crawl.storage.filesystems import hdfs, hdfs_errors
from crawl.storage.filesystems.hdfs import HdfsFiles
from crawl.storage.filesystems.hdfs_errors import HdfsRetries


class Late:
    """A client to which the name node tells all of a file after some looks only."""

    def __init__(self, looks: int = 3) -> None:
        self.calls: list[str] = []
        self.size = 0
        self.looks = looks

    def create(self, path: str, options: Any) -> Any:
        return SimpleNamespace(write=self.write, close=lambda: self.calls.append("close"))

    def write(self, data: Any) -> None:
        self.size += len(data)

    def get_file_info(self, path: str) -> Any:
        return SimpleNamespace(length=self.size)  # which is known before it can be read

    def read(self, path: str) -> bytes:
        self.calls.append("look")
        return bytes(self.size) if self.calls.count("look") >= self.looks else b""

    def delete(self, path: str, recursive: bool) -> bool:
        return True

    def rename(self, source: str, target: str, replacing: bool) -> None:
        self.calls.append("rename")


def files(client: Late) -> HdfsFiles:
    return HdfsFiles(client, HdfsRetries("a-name-service"))


def test_a_file_gets_its_name_when_it_can_be_read_whole() -> None:
    client = Late()
    files(client).pipe_file("/a", b"abc")
    assert client.calls == ["close", "look", "look", "look", "rename"]


def test_so_does_a_large_one(monkeypatch: Any) -> None:
    monkeypatch.setattr(hdfs, "SMALL", 2)
    client = Late()
    with files(client).open("/a", "wb") as stream:
        stream.write(b"abc")
        stream.write(b"def")
    assert client.calls == ["close", "look", "look", "look", "rename"]


def test_a_file_that_stays_short_gets_no_name(monkeypatch: Any) -> None:
    monkeypatch.setattr(hdfs, "_SETTLE_LOOKS", 2)
    monkeypatch.setattr(hdfs_errors, "KNOWN_S", 0.0)
    client = Late(looks=1_000_000)
    with pytest.raises(OSError, match="not reported by any data node"):
        files(client).pipe_file("/a", b"abc")
    assert "rename" not in client.calls
