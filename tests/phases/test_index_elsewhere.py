"""The embedded index in another place than the crawl's folder: on the disk, and in a store."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from crawl.indexing.embedded.answers import SearchOptions
from crawl.inspect.search import CrawlSearch
from crawl.storage.folder import Folder
from crawl.testing.clock import ManualClock
from tests.phases.indexed import GONE, IndexedCrawl, Page
from tests.phases.made import NOW

A, B = "http://a.com/", "http://b.com/"


@pytest.fixture(params=["disk", "store"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "disk":
        return str(tmp_path / "elsewhere")
    return f"memory://{uuid.uuid4().hex}"


def test_an_index_elsewhere_is_made_changed_and_searched(
    tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    crawl = IndexedCrawl(tmp_path, "tantivy")
    search = CrawlSearch(crawl.crawl_dir, crawl.config)

    def found(words: str) -> list[str]:
        answer = search.search(words, ManualClock(NOW), SearchOptions())
        return [hit.record.url for hit in answer.hits]

    crawl.round({A: Page("alpha one"), B: Page("beta one")})
    crawl.index(parameters={"path": place})
    assert (found("alpha"), found("beta")) == ([A], [B])
    crawl.round({A: Page("gamma two"), B: GONE})
    crawl.index(parameters={"path": place}, delete_gone=True)
    assert (found("alpha"), found("beta"), found("gamma")) == ([], [], [A])
    shards = [name for name in Folder(place).names() if name.startswith("part-")]
    assert len(shards) <= 2, "what was replaced is swept away"
    left = [path for path in tmp_path.iterdir() if path.name.startswith("index-")]
    assert not left, "nothing stays on the disk of the task"
    copies = [path.name for path in (tmp_path / "cache").glob("nutria/index/*/*")]
    assert sorted(copies) == (shards if place.startswith("memory:") else []), "old copies are gone"
