"""Where a service can be asked is said while it has the queue, and by it alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from crawl.errors import StorageError
from crawl.service.faces.announcement import Announcement, address_of, announced, announcement_of
from crawl.service.queues.owner_lock import OwnerLock, owner_of


def test_it_is_said_while_the_block_lasts(tmp_path: Path) -> None:
    lock = OwnerLock(tmp_path / "queue.sqlite.lock", tmp_path)
    try:
        with announced(tmp_path, "http://127.0.0.1:8199"):
            found = announcement_of(tmp_path)
            assert found == Announcement(os.getpid(), "http://127.0.0.1:8199")
        assert announcement_of(tmp_path) is None
    finally:
        lock.close()


def test_that_of_a_process_that_was_killed_is_passed_over(tmp_path: Path) -> None:
    with announced(tmp_path, "http://127.0.0.1:8199"):
        (tmp_path / "queue.sqlite.lock").write_text("1\n")
        assert announcement_of(tmp_path) is None


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"process": "x", "address": 7}'])
def test_what_is_none_is_passed_over(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "address.json").write_bytes(content)
    assert announcement_of(tmp_path) is None


def test_a_folder_that_cannot_be_written_is_a_fault_of_storage(tmp_path: Path) -> None:
    with pytest.raises(StorageError), announced(tmp_path / "nowhere", "http://127.0.0.1:1"):
        pass


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", "http://127.0.0.1:80"),
        ("0.0.0.0", "http://127.0.0.1:80"),
        ("::", "http://[::1]:80"),
        ("::1", "http://[::1]:80"),
        ("10.1.2.3", "http://10.1.2.3:80"),
    ],
)
def test_programs_of_this_machine_ask_an_address_that_answers(host: str, address: str) -> None:
    assert address_of(host, 80) == address


def test_the_owner_of_a_file_that_nobody_had_is_unknown(tmp_path: Path) -> None:
    assert owner_of(tmp_path / "none") is None
    (tmp_path / "strange").write_text("x" * 100)
    assert owner_of(tmp_path / "strange") is None
