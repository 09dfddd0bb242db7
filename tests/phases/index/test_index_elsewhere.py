"""The embedded index in another place than the crawl's folder: on the disk, and in a store."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from crawl.phases.index.tasks.output_check import output_faults
from crawl.readers.search.search import CrawlSearch
from crawl.search.answers import SearchOptions
from crawl.search.file_sums import is_passing
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
    crawl.index(params={"path": place})
    assert (found("alpha"), found("beta")) == ([A], [B])
    crawl.round({A: Page("gamma two"), B: GONE})
    crawl.index(params={"path": place}, delete_gone=True)
    assert (found("alpha"), found("beta"), found("gamma")) == ([], [], [A])
    shards = [name for name in Folder(place).names() if name.startswith("part-")]
    assert len(shards) <= 2, "what was replaced is swept away"
    left = [path for path in tmp_path.iterdir() if path.name.startswith("index-")]
    assert not left, "nothing stays on the disk of the task"
    copies = [path.name for path in (tmp_path / "cache").glob("nutria/index/*/*")]
    assert sorted(copies) == (shards if place.startswith("memory:") else []), "old copies are gone"


def test_damage_elsewhere_is_found_and_that_of_a_copy_is_mended(
    tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    crawl = IndexedCrawl(tmp_path, "tantivy")
    crawl.round({A: Page("alpha one"), B: Page("alpha two")})
    crawl.index(params={"path": place})

    def found() -> set[str]:
        search = CrawlSearch(crawl.crawl_dir, crawl.config)
        answer = search.search("alpha", ManualClock(NOW), SearchOptions())
        return {hit.record.url for hit in answer.hits}

    assert found() == {A, B}
    for copy in (tmp_path / "cache").glob("nutria/index/*/*/meta.json"):
        copy.write_bytes(b"")
    assert found() == {A, B}, "a copy that was damaged here is made once more"
    assert output_faults(crawl.crawl_dir, deep=True)[0] == []
    folder = Folder(place)
    shard = next(name for name in folder.names() if name.startswith("part-"))
    for name in folder.files(shard):
        if is_passing(name):
            continue
        whole = folder.read(f"{shard}/{name}") or b""
        folder.write(f"{shard}/{name}", whole[:-1] + bytes([whole[-1] ^ 1]))
        (fault,) = output_faults(crawl.crawl_dir, deep=True)[0]
        assert fault.path == f"{folder.address}/{shard}", name
        folder.write(f"{shard}/{name}", whole)
    assert output_faults(crawl.crawl_dir, deep=True)[0] == []
