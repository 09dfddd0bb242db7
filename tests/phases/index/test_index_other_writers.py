"""Index writers that come later, pause, or are given another folder: none of them lacks a page
that the others have, and none of them takes another's files for its own."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from crawl.errors import NothingToDo, UsageError
from crawl.model.derived_tables import INDEX
from crawl.model.status import Status
from crawl.storage.checking import check
from crawl.storage.parquet import open_writer
from tests.phases.indexed import FILE_WRITERS, GONE, IndexedCrawl, Page

A, B, C, D = (f"http://{host}/" for host in ("a.com", "b.com", "c.com", "d.org"))
NOINDEX = "<meta name=robots content=noindex>"


def _pages(*urls: str) -> dict[str, Page]:
    return {url: Page(f"{url[7]}word one") for url in urls}


def _has(crawl: IndexedCrawl, writer: str) -> set[str]:
    return set(crawl.documents(writer))


@pytest.mark.parametrize("cleaned", [False, True])
def test_a_writer_that_is_new_is_given_what_the_others_have(tmp_path: Path, cleaned: bool) -> None:
    crawl = IndexedCrawl(tmp_path)
    crawl.round(_pages(A, B))
    crawl.index()
    crawl.round(_pages(C))
    crawl.index()
    crawl.settings["index.writers"] = "jsonl,csv"
    if cleaned:  # which knows the new writer before index does
        crawl.clean()
    done = crawl.index()
    assert done.remarks == ("csv: 2 segments were indexed without it, and are read again",)
    assert done.report.counters["jsonl.unchanged"] == 3
    assert _has(crawl, "csv") == {A, B, C}
    with pytest.raises(NothingToDo):
        crawl.index()


def test_a_writer_that_paused_is_given_what_it_missed(tmp_path: Path) -> None:
    crawl = IndexedCrawl(tmp_path, "jsonl,csv")
    crawl.round(_pages(A, B, C))
    crawl.index()
    crawl.settings["index.writers"] = "jsonl"
    crawl.round({**_pages(D), C: Page("cword", NOINDEX)})
    crawl.index()
    assert _has(crawl, "csv") == {A, B, C}
    crawl.settings["index.writers"] = "jsonl,csv"
    done = crawl.index()
    assert done.remarks == ("csv: 1 segment was indexed without it, and is read again",)
    assert len(done.segments) == 1
    assert _has(crawl, "csv") == _has(crawl, "jsonl") == {A, B, D}
    with pytest.raises(NothingToDo):
        crawl.index()


def test_what_is_read_again_brings_no_page_back_that_newer_segments_took_out(
    tmp_path: Path,
) -> None:
    crawl = IndexedCrawl(tmp_path, "jsonl,csv")
    crawl.round(_pages(A))
    crawl.index()
    crawl.settings["index.writers"] = "jsonl"
    crawl.round(_pages(B, C))
    crawl.index()
    third = crawl.round({B: Page("bword", NOINDEX), C: GONE})
    crawl.settings["index.writers"] = "jsonl,csv"
    crawl.index(third, delete_gone=True)
    crawl.index()  # of which csv missed the second segment
    assert _has(crawl, "csv") == _has(crawl, "jsonl") == {A}


def test_a_page_that_came_back_in_a_pause_is_not_missed(tmp_path: Path) -> None:
    crawl = IndexedCrawl(tmp_path, "jsonl,csv")
    crawl.round(_pages(A, B))
    crawl.index()
    crawl.set_records({B: Status.DB_DUPLICATE})
    crawl.clean()
    crawl.settings["index.writers"] = "jsonl"
    crawl.set_records({B: Status.DB_FETCHED})
    crawl.index()
    crawl.settings["index.writers"] = "jsonl,csv"
    crawl.index()
    assert _has(crawl, "csv") == _has(crawl, "jsonl") == {A, B}


def test_named_segments_do_not_settle_what_is_missed(tmp_path: Path) -> None:
    crawl = IndexedCrawl(tmp_path)
    crawl.round(_pages(A))
    second = crawl.round(_pages(B))
    crawl.index()
    crawl.settings["index.writers"] = "csv"
    crawl.index(second)
    assert _has(crawl, "csv") == {B}
    crawl.index()
    assert _has(crawl, "csv") == {A, B}


def test_two_writers_do_not_share_a_folder(tmp_path: Path) -> None:
    crawl = IndexedCrawl(tmp_path, "jsonl,csv")
    crawl.round(_pages(A, B))
    there = tmp_path / "there"
    with pytest.raises(UsageError, match=r"csv and jsonl .*there: give each a path of its own"):
        crawl.index(params={"path": str(there)})
    assert not there.exists()
    crawl.settings["index.writers"] = "csv"
    crawl.index(params={"path": f"{there}/../there/"})
    crawl.settings["index.writers"] = "jsonl"  # csv rests, and its files stay
    with pytest.raises(UsageError, match="csv and jsonl"):
        crawl.index(every=True, params={"path": str(there)})
    with pytest.raises(UsageError, match="csv and jsonl"):
        crawl.clean(params={"path": str(there)})
    assert _has(crawl, "csv") == {A, B}


def test_two_crawls_do_not_share_a_folder(tmp_path: Path) -> None:
    there = {"path": str(tmp_path / "there")}
    first, second = IndexedCrawl(tmp_path / "1"), IndexedCrawl(tmp_path / "2")
    first.round(_pages(A, B))
    first.index(params=there)
    second.round(_pages(C, D))
    for options in ({}, {"rebuild": True}):
        with pytest.raises(UsageError, match="holds an index that is not this crawl's"):
            second.index(params=there, **options)
    assert _has(first, "jsonl") == {A, B}
    first.index(every=True, params=there)


def test_a_writer_moves_to_another_folder_by_a_rebuild_alone(tmp_path: Path) -> None:
    crawl = IndexedCrawl(tmp_path)
    crawl.round(_pages(A))
    crawl.index()
    crawl.round(_pages(B, C, D))
    there = {"path": str(tmp_path / "there")}
    with pytest.raises(UsageError, match=r"jsonl: its files are in .*index/jsonl.*--rebuild"):
        crawl.index(params=there)
    with pytest.raises(UsageError, match="its files are in"):
        crawl.clean(params=there)
    assert _has(crawl, "jsonl") == {A}
    crawl.index(rebuild=True, params=there)
    assert _has(crawl, "jsonl") == {A, B, C, D}
    with pytest.raises(UsageError, match="its files are in"):
        crawl.clean()
    assert not check(crawl.crawl_dir, deep=True).faults


def test_a_ledger_of_an_older_release_is_continued(tmp_path: Path) -> None:
    crawl = IndexedCrawl(tmp_path, ",".join(FILE_WRITERS))
    crawl.round(_pages(A, B, C))
    crawl.index()
    dataset = crawl.crawl_dir.dataset(INDEX)
    for file in dataset.require_current().files:
        rows = pq.read_table(dataset.folder.path(file.path)).drop_columns(["segment"])
        with open_writer(dataset.folder, file.path, rows.schema) as ledger:
            ledger.write(rows)
    crawl.set_records({C: Status.DB_DUPLICATE})
    crawl.clean()
    crawl.round({A: Page("aword two"), B: GONE})
    crawl.index(delete_gone=True)
    for writer in FILE_WRITERS:
        assert _has(crawl, writer) == {A}
    assert not check(crawl.crawl_dir, deep=True).faults
