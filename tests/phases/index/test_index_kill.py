"""An index that dies at any write leaves the former state, and the next one goes on."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from crawl.readers.search.search import CrawlSearch
from crawl.search.answers import SearchOptions
from crawl.testing.clock import ManualClock
from tests.phases.indexed import GONE, IndexedCrawl, Page
from tests.phases.killed import Moment, run_killed, writes_of
from tests.phases.made import NOW
from tests.plugins.indexwriter.kafka_topic import compacted, mock_brokers, records_of

A, B, C = "http://a.com/", "http://b.com/", "http://c.com/"

_DECISIVE = (
    ".jsonl, torn",
    "part-#-#.parquet",
    "manifest.json, torn",
    "CURRENT, torn",
    "index/CURRENT",
    "index/jsonl/FOLDERS, torn",
    "index/tantivy/FOLDERS, torn",
    "delete index/jsonl/part-#-#.jsonl",
)
"""Writes between which the state changes: the writer's file, the ledger, the publication, and what
follows it."""

pytestmark = pytest.mark.exhaustive


_WRITERS = "tantivy,jsonl"


def _prepared(folder: Path) -> IndexedCrawl:
    crawl = IndexedCrawl(folder, _WRITERS)
    crawl.round({A: Page("alpha one"), B: Page("beta"), C: Page("gamma")})
    crawl.index()
    crawl.round({A: Page("alpha two"), B: GONE})
    return crawl


def _index(folder: str) -> None:
    IndexedCrawl(Path(folder), _WRITERS).index(delete_gone=True, steal_lock=True)


def _texts(crawl: IndexedCrawl) -> dict[str, Any]:
    """By the files of one writer; what a search finds is the same at any time."""
    found = {url: document["content"] for url, document in crawl.documents().items()}
    search = CrawlSearch(crawl.crawl_dir, crawl.config)
    answers = search.search("alpha OR beta OR gamma", ManualClock(NOW), SearchOptions(), 0)
    assert {hit.record.url: hit.record.text for hit in answers.hits} == found
    return found


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
            assert "is in the index already" in str(error), moment
        assert _texts(again) == after, moment
        files = {path.name for path in Path(tried, "crawl", "index", "jsonl").iterdir()}
        assert len([name for name in files if name.startswith("part-")]) <= 2, moment


def _with_kafka(folder: Path, brokers: str, topic: str) -> IndexedCrawl:
    rules = folder / "writers.toml"
    rules.write_text(
        f"[[writer]]\nid = 'kafka'\n[writer.parameters]\ntopic = '{topic}'\nbrokers = '{brokers}'\n"
    )
    return IndexedCrawl(folder, "jsonl,kafka", index__writers__file=str(rules))


def _index_to_kafka(folder: str, brokers: str, topic: str) -> None:
    _with_kafka(Path(folder), brokers, topic).index(delete_gone=True, steal_lock=True)


@pytest.mark.slow(seconds=40)
def test_a_topic_is_the_index_after_a_death(tmp_path: Path) -> None:
    base, tried = tmp_path / "base", tmp_path / "tried"
    crawl = IndexedCrawl(base)
    crawl.round({A: Page("alpha one"), B: Page("beta"), C: Page("gamma")})
    with mock_brokers() as brokers:
        shutil.copytree(base, tried)
        writes = writes_of(_index_to_kafka, str(tried), brokers, "whole")
        assert set(compacted(records_of(brokers, "whole"))) == {A, B, C}
        chosen = [
            kind
            for kind in writes
            if kind.endswith(("manifest.json, torn", "index/CURRENT", ".jsonl, torn"))
            or "sent-" in kind
        ]
        assert len(chosen) >= 4
        for number, moment in enumerate(Moment(kind, 1) for kind in chosen):
            shutil.rmtree(tried)
            shutil.copytree(base, tried)
            topic = f"topic{number}"
            assert run_killed(_index_to_kafka, str(tried), brokers, topic, at=moment), moment
            # what the dead job may have sent is gone, or another page, before the next one
            again = _with_kafka(tried, brokers, topic)
            again.rounds = 1
            again.round({A: Page("alpha two"), B: GONE})
            again.index(delete_gone=True, steal_lock=True)
            found = compacted(records_of(brokers, topic))
            assert set(found) == {A, C} == set(again.documents("jsonl")), moment
            assert found[A]["content"] == "alpha two", moment
