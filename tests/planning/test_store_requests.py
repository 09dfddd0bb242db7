"""How often a store is asked for files of any size."""

from __future__ import annotations

import pytest

from crawl.planning.store_requests import (
    END_BYTES,
    FEW_FILES,
    NO_REQUESTS,
    PUBLICATION,
    READ_BLOCK,
    WRITE_BLOCK,
    StoreRequests,
    deleting_folder,
    publishing,
    reading,
    reading_whole,
    writing,
)
from crawl.storage import footer
from crawl.storage.filesystems import object_store

MIB = 1 << 20


def test_the_blocks_are_those_of_the_store() -> None:
    assert READ_BLOCK == object_store.READ_BLOCK
    assert WRITE_BLOCK == object_store.WRITE_BLOCK
    assert END_BYTES == footer._FIRST_READ
    assert FEW_FILES == object_store._FEW


@pytest.mark.parametrize(
    ("size", "gets"), [(0, 1), (60_000, 1), (70_000, 2), (11 * MIB, 4), (112e6, 1 + 27)]
)
def test_a_file_is_read_by_its_end_and_then_in_blocks(size: float, gets: int) -> None:
    assert reading(1, size) == StoreRequests(get=gets)
    assert reading(10, 10 * size) == StoreRequests(get=10 * gets)
    assert reading_whole(10) == StoreRequests(get=10)


@pytest.mark.parametrize(("size", "puts"), [(0, 1), (15 * MIB, 1), (16 * MIB, 3), (40 * MIB, 5)])
def test_a_large_file_is_begun_sent_in_parts_and_ended(size: float, puts: int) -> None:
    assert writing(1, size) == StoreRequests(put=puts)
    assert writing(10, 10 * size) == StoreRequests(put=10 * puts)


def test_a_publication_lists_files_and_deletes_them_by_the_thousand() -> None:
    assert publishing(100, 3) == PUBLICATION
    assert publishing(4000, 3, 4000) == PUBLICATION + StoreRequests(put=4, list=2 * 12)


def test_a_folder_of_a_few_files_is_deleted_one_by_one() -> None:
    assert deleting_folder(8) == StoreRequests(delete=8)
    assert deleting_folder(2_001) == StoreRequests(put=3, get=1, head=1, list=3)


def test_none_of_nothing() -> None:
    assert reading(0, 0) == writing(0, 0) == NO_REQUESTS


def test_billed_are_lists_as_puts_and_heads_as_gets() -> None:
    found = StoreRequests(1, 2, 3, 4, 5) + StoreRequests(10, 20, 30, 40, 50).times(2)
    assert (found.puts, found.gets, found.delete) == (21 + 84, 42 + 63, 105)
