"""A clean that takes pages out, and an index that brings them back, die at any write: every writer
has what it had or what it is to have, and the next one goes on."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from crawl.errors import NothingToDo
from crawl.model.status import Status
from crawl.storage.checking import check
from tests.phases.indexed import IndexedCrawl, Page
from tests.phases.killed import Moment, run_killed, writes_of

pytestmark = pytest.mark.exhaustive

A, B, C = "http://a.com/", "http://b.com/", "http://c.com/"
WRITERS = "tantivy,parquet,csv"

_DECISIVE = (
    "kept-#-#.parquet, torn",
    "part-#-#.parquet",
    "manifest.json, torn",
    "index/CURRENT",
    "index/tantivy/FOLDERS, torn",
    "delete index/csv/part-#-#.csv",
)


def _clean(folder: str) -> None:
    IndexedCrawl(Path(folder), WRITERS).clean(steal_lock=True)


def _index(folder: str) -> None:
    IndexedCrawl(Path(folder), WRITERS).index(steal_lock=True)


def _texts(folder: Path) -> list[dict[str, str]]:
    crawl = IndexedCrawl(folder, WRITERS)
    found = [crawl.documents(writer) for writer in WRITERS.split(",")]
    return [{url: each["content"] for url, each in documents.items()} for documents in found]


@pytest.mark.slow(seconds=60)
@pytest.mark.parametrize("job", [_clean, _index])
def test_a_killed_job_changes_nothing_and_the_next_goes_on(
    tmp_path: Path, job: Callable[[str], None]
) -> None:
    base, tried = tmp_path / "base", tmp_path / "tried"
    crawl = IndexedCrawl(base, WRITERS)
    crawl.round({A: Page("alpha"), B: Page("beta"), C: Page("gamma")})
    crawl.index()
    crawl.set_records({B: Status.DB_DUPLICATE, C: Status.DB_ORPHAN})
    if job is _index:
        crawl.clean()
        crawl.set_records({B: Status.DB_FETCHED})
    before = _texts(base)
    shutil.copytree(base, tried)
    writes = writes_of(job, str(tried))
    after = _texts(tried)
    assert after != before and after[0] == after[1] == after[2]
    chosen = [kind for kind in writes if kind.endswith(_DECISIVE)]
    assert len(chosen) >= len(_DECISIVE), writes
    for moment in (Moment(kind, 1) for kind in chosen):
        shutil.rmtree(tried)
        shutil.copytree(base, tried)
        if not run_killed(job, str(tried), at=moment):
            continue
        assert _texts(tried) in (before, after), moment
        try:
            job(str(tried))
        except NothingToDo:
            assert _texts(tried) == after, moment
        assert _texts(tried) == after, moment
        assert not check(IndexedCrawl(tried).crawl_dir, deep=True).faults, moment
