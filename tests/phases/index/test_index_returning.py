"""Pages that the CrawlDb kept out of the index, and keeps out no longer, without a new parse: the
index has them again, from the segment where their text lies."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from crawl.errors import NothingToDo
from crawl.model.derived_tables import INDEX
from crawl.model.status import Status
from crawl.storage.checking import check
from tests.phases.indexed import FILE_WRITERS, GONE, IndexedCrawl, Page

A, B, C, D = (f"http://{host}/" for host in ("a.com", "b.com", "c.com", "d.org"))
NOINDEX = "<meta name=robots content=noindex>"
BACK = Status.DB_FETCHED


def _pages(*urls: str) -> dict[str, Page]:
    return {url: Page(f"{url[7]}word one") for url in urls}


def _kept_out(crawl: IndexedCrawl) -> int:
    snapshot = crawl.crawl_dir.dataset(INDEX).require_current()
    return sum(file.rows for files in snapshot.attached.values() for file in files)


@pytest.mark.parametrize(
    "state", [Status.DB_DUPLICATE, Status.DB_GONE, Status.DB_ORPHAN, Status.DB_REDIR_PERM]
)
@pytest.mark.parametrize("back", [Status.DB_FETCHED, Status.DB_NOTMODIFIED])
def test_a_page_that_never_was_in_the_index_comes_in(
    tmp_path: Path, state: Status, back: Status
) -> None:
    crawl = IndexedCrawl(tmp_path)
    crawl.round(_pages(A, B))
    crawl.set_records({B: state})
    crawl.index()
    assert set(crawl.documents()) == {A} and _kept_out(crawl) == 1
    crawl.set_records({B: back})
    done = crawl.index()
    assert set(crawl.documents()) == {A, B}
    assert done.report.counters["returned"] == 1 and _kept_out(crawl) == 0
    assert not done.remarks


def test_every_writer_has_it_again_after_clean(tmp_path: Path) -> None:
    crawl = IndexedCrawl(tmp_path, ",".join(FILE_WRITERS))
    crawl.round(_pages(A, B, C))
    crawl.index()
    crawl.set_records({B: Status.DB_DUPLICATE, C: Status.DB_ORPHAN})
    crawl.clean()
    assert _kept_out(crawl) == 2
    crawl.set_records({B: BACK, C: BACK})
    crawl.index()
    for writer in FILE_WRITERS:
        assert set(crawl.documents(writer)) == {A, B, C}
    assert not check(crawl.crawl_dir, deep=True).faults


def test_nothing_to_do_until_the_crawldb_changes(tmp_path: Path) -> None:
    crawl = IndexedCrawl(tmp_path)
    crawl.round(_pages(A, B))
    crawl.index()
    crawl.set_records({B: Status.DB_DUPLICATE})
    crawl.clean()
    crawl.set_records({A: BACK})  # another snapshot, in which B is what it was
    assert crawl.index().report.counters["returned"] == 0
    with pytest.raises(NothingToDo, match="is in the index already"):
        crawl.index()
    assert _kept_out(crawl) == 1


def test_the_newest_parse_returns(tmp_path: Path) -> None:
    crawl = IndexedCrawl(tmp_path)
    crawl.round({A: Page("aword one"), B: Page("bword one")})
    crawl.index()
    crawl.round({B: Page("bword two")})
    crawl.index()
    crawl.round({B: GONE})
    crawl.index(delete_gone=True)
    assert set(crawl.documents()) == {A}
    crawl.set_records({B: Status.DB_NOTMODIFIED})  # it is back as it was
    crawl.index()
    assert "two" in crawl.documents()[B]["content"]


@pytest.mark.parametrize("options", [{"every": True}, {"rebuild": True}, {}], ids=str)
def test_a_page_that_was_gone_and_is_back_as_it_was_counts_by_its_older_fetch(
    tmp_path: Path, options: dict[str, bool]
) -> None:
    crawl = IndexedCrawl(tmp_path)
    crawl.round(_pages(A, B))
    crawl.index()
    crawl.round({B: GONE})
    crawl.index(delete_gone=True)
    crawl.round({A: Page("aword two")})
    crawl.set_records({B: Status.DB_NOTMODIFIED})
    crawl.index(**options)
    assert set(crawl.documents()) == {A, B} and _kept_out(crawl) == 0
    assert "two" in crawl.documents()[A]["content"]


def test_a_page_that_asks_not_to_be_indexed_stays_out(tmp_path: Path) -> None:
    crawl = IndexedCrawl(tmp_path)
    crawl.round(_pages(A, B))
    crawl.index()
    crawl.set_records({B: Status.DB_DUPLICATE})
    crawl.clean()
    crawl.round({B: Page("bword two", NOINDEX)})
    crawl.index()
    assert _kept_out(crawl) == 0
    crawl.set_records({B: BACK})
    with pytest.raises(NothingToDo):
        crawl.index()
    assert set(crawl.documents()) == {A}


def test_an_older_segment_does_not_bring_it_back(tmp_path: Path) -> None:
    crawl = IndexedCrawl(tmp_path)
    first = crawl.round(_pages(A, B, C))
    crawl.index()
    crawl.round({B: Page("bword two", NOINDEX), C: Page("cword two")})
    crawl.index()
    crawl.index(first)
    assert set(crawl.documents()) == {A, C}
    assert "two" in crawl.documents()[C]["content"]


def test_a_segment_that_is_parsed_late_does_not_bring_it_back(tmp_path: Path) -> None:
    crawl = IndexedCrawl(tmp_path)
    first = crawl.round(_pages(A, B, C))
    aside = Path(crawl.address, "segments", first)
    aside.rename(tmp_path / first)
    crawl.round({B: Page("bword two", NOINDEX), C: Page("cword two")})
    crawl.index()
    assert set(crawl.documents()) == {C}
    (tmp_path / first).rename(aside)
    crawl.index()
    assert set(crawl.documents()) == {A, C}
    assert "two" in crawl.documents()[C]["content"]


def test_a_segment_that_is_gone_is_told(tmp_path: Path) -> None:
    crawl = IndexedCrawl(tmp_path)
    name = crawl.round(_pages(A, B))
    crawl.index()
    crawl.set_records({B: Status.DB_DUPLICATE})
    crawl.clean()
    shutil.rmtree(Path(crawl.address, "segments", name))
    crawl.set_records({B: BACK})
    done = crawl.index()
    assert done.report.counters["returning.without_segment"] == 1
    assert any("not here any more" in remark for remark in done.remarks)


def test_rebuild_forgets_what_was_kept_out(tmp_path: Path) -> None:
    crawl = IndexedCrawl(tmp_path)
    crawl.round(_pages(A, B, C))
    crawl.index()
    crawl.set_records({B: Status.DB_DUPLICATE, C: None})
    crawl.clean()
    done = crawl.index(rebuild=True)
    assert set(crawl.documents()) == {A}
    assert done.report.counters["kept_out"] == _kept_out(crawl) == 1


def test_a_segment_that_the_crawldb_does_not_have_is_indexed_again(tmp_path: Path) -> None:
    crawl = IndexedCrawl(tmp_path)
    crawl.round(_pages(A, B))
    crawl.index()
    crawl.set_records({B: None})
    name = crawl.round(_pages(B, D), update=False)
    assert crawl.index().report.counters["skipped.not_in_crawldb"] == 2
    crawl.set_records({})
    crawl.update(name)
    crawl.index()
    assert set(crawl.documents()) == {A, B, D}
