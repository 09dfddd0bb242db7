"""An index that dies at any write leaves the former state, and the next one goes on."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.phases.indexed import GONE, IndexedCrawl, Page
from tests.phases.killed import Moment, run_killed, writes_of

A, B, C = "http://a.com/", "http://b.com/", "http://c.com/"

_DECISIVE = (
    ".jsonl, torn",
    "part-#-#.parquet",
    "manifest.json, torn",
    "CURRENT, torn",
    "index/CURRENT",
    "FOLDERS, torn",
    "delete index/jsonl/part-#-#.jsonl",
)
"""Writes between which the state changes: the writer's file, the ledger, the publication, and what
follows it."""


def _prepared(folder: Path) -> IndexedCrawl:
    crawl = IndexedCrawl(folder, "jsonl")
    crawl.round({A: Page("alpha one"), B: Page("beta"), C: Page("gamma")})
    crawl.index()
    crawl.round({A: Page("alpha two"), B: GONE})
    return crawl


def _index(folder: str) -> None:
    IndexedCrawl(Path(folder), "jsonl").index(delete_gone=True, force=True)


def _texts(crawl: IndexedCrawl) -> dict[str, Any]:
    return {url: document["content"] for url, document in crawl.documents().items()}


@pytest.mark.slow(seconds=40)
def test_a_killed_index_changes_nothing_and_goes_on(tmp_path: Path) -> None:
    crawl = _prepared(tmp_path / "base")
    before = _texts(crawl)
    tried = tmp_path / "tried"
    shutil.copytree(tmp_path / "base", tried)
    writes = writes_of(_index, str(tried))
    after = _texts(IndexedCrawl(tried))
    assert after == {A: "alpha two", C: "gamma"} and before != after
    chosen = [
        kind for kind in writes if kind.endswith(_DECISIVE) and "delete snapshots" not in kind
    ]
    assert len(chosen) == len(_DECISIVE)
    for moment in (Moment(kind, 1) for kind in chosen):
        shutil.rmtree(tried)
        shutil.copytree(tmp_path / "base", tried)
        if not run_killed(_index, str(tried), at=moment):
            continue
        again = IndexedCrawl(tried)
        assert _texts(again) in (before, after), moment
        try:
            _index(str(tried))
        except Exception as error:
            assert "indexed already" in str(error), moment
        assert _texts(again) == after, moment
        files = {path.name for path in Path(tried, "crawl", "index", "jsonl").iterdir()}
        assert len([name for name in files if name.startswith("part-")]) <= 2, moment
