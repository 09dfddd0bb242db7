"""Every file of an embedded index, damaged in every way: a check finds it, and a search refuses or
answers as if nothing had happened."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from crawl.errors import StorageError
from crawl.model.derived_tables import INDEX
from crawl.phases.check.run import index_remarks
from crawl.phases.index.tasks.output_check import output_faults, unnoted_folders
from crawl.phases.index.tasks.outputs import OUTPUTS
from crawl.readers.search.search import CrawlSearch
from crawl.search.answers import SearchOptions
from crawl.search.file_sums import is_passing
from crawl.testing.clock import ManualClock
from tests.phases.indexed import IndexedCrawl, Page
from tests.phases.made import NOW

pytestmark = [pytest.mark.slow(seconds=20), pytest.mark.exhaustive]

URLS = tuple(f"http://h{number}.com/" for number in range(12))
Damage = Callable[[Path, Path], None]
"""Of a file, given another one."""


def deleted(file: Path, _: Path) -> None:
    file.unlink()


def emptied(file: Path, _: Path) -> None:
    file.write_bytes(b"")


def cut(file: Path, _: Path) -> None:
    raw = file.read_bytes()
    file.write_bytes(raw[: len(raw) - max(2, len(raw) // 3)])


def flipped(file: Path, _: Path) -> None:
    raw = bytearray(file.read_bytes())
    raw[random.Random(file.suffix).randrange(len(raw))] ^= 1 << 3
    file.write_bytes(raw)


def replaced(file: Path, sibling: Path) -> None:
    file.write_bytes(sibling.read_bytes())


DAMAGES = (deleted, emptied, cut, flipped, replaced)


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("indexed")
    crawl = IndexedCrawl(folder, "tantivy")
    crawl.round({url: Page(f"alpha one {url}") for url in URLS})
    crawl.index()
    crawl.round({url: Page(f"alpha two {url}") for url in URLS[:6]})
    crawl.index()  # folders that began as others
    return folder


@pytest.fixture
def crawl(indexed: Path, tmp_path: Path) -> IndexedCrawl:
    shutil.copytree(indexed, tmp_path / "copy")
    return IndexedCrawl(tmp_path / "copy", "tantivy")


def _folders(crawl: IndexedCrawl) -> list[Path]:
    found = sorted(Path(crawl.address, "index", "tantivy").glob("part-*"))
    assert len(found) == 2
    return found


def _pages(crawl: IndexedCrawl) -> set[tuple[str, str]] | None:
    """What a search finds; None where it refuses."""
    options = SearchOptions(limit=50, collapse=False)
    try:
        search = CrawlSearch(crawl.crawl_dir, crawl.config)
        found = search.search("alpha", ManualClock(NOW), options, per_host=0)
    except StorageError as error:
        assert "\n" not in str(error)
        return None
    return {(hit.record.url, hit.record.text) for hit in found.hits}


def _sibling(file: Path, crawl: IndexedCrawl) -> Path:
    """The file of the same kind in the other folder; of a list any other file."""
    if file.parent.name.startswith("part-"):
        (other,) = [folder for folder in _folders(crawl) if folder != file.parent]
        same = [each for each in sorted(other.iterdir()) if each.suffix == file.suffix]
        named = [each for each in same if each.name == file.name]
        return (named or same or [other / "meta.json"])[0]
    return _folders(crawl)[0] / "meta.json"


@pytest.mark.parametrize("damage", DAMAGES)
def test_no_damage_of_any_file_is_silent(crawl: IndexedCrawl, damage: Damage) -> None:
    whole = _pages(crawl)
    assert whole is not None and len(whole) == len(URLS)
    assert output_faults(crawl.crawl_dir, deep=True)[0] == []
    place = _folders(crawl)[0].parent
    files = [
        file
        for file in sorted(place.rglob("*"))
        if file.is_file() and not is_passing(file.name) and file.parent != _folders(crawl)[1]
    ]
    names = {file.name for file in files}
    assert {"FOLDERS", "FOLDERS.copy", "nutria-files.json", "nutria-index.json"} <= names
    assert {"meta.json", ".managed.json"} <= names and len(files) >= 12
    for file in files:
        before = file.read_bytes()
        damage(file, _sibling(file, crawl))
        if not file.exists() or file.read_bytes() != before:
            faults, _ = output_faults(crawl.crawl_dir, deep=True)
            assert faults, file.name
            assert index_remarks(crawl.crawl_dir, faults), "what is to be done"
            assert _pages(crawl) in (None, whole), file.name
        file.write_bytes(before)
    assert output_faults(crawl.crawl_dir, deep=True)[0] == []


@pytest.mark.parametrize("deep", [False, True])
def test_a_folder_that_is_another_one(crawl: IndexedCrawl, deep: bool) -> None:
    one, other = _folders(crawl)
    shutil.rmtree(one)
    shutil.copytree(other, one)
    (fault,) = output_faults(crawl.crawl_dir, deep=deep)[0]
    assert fault.path == f"index/tantivy/{one.name}" and "another's" in fault.fault
    assert _pages(crawl) is None
    crawl.rounds = 2
    crawl.round({url: Page(f"alpha three {url}") for url in URLS})
    with pytest.raises(StorageError, match=f"{one.name} is damaged.*--rebuild"):
        crawl.index()
    crawl.index(rebuild=True)
    assert output_faults(crawl.crawl_dir, deep=True)[0] == []
    found = _pages(crawl)
    assert found is not None and {url for url, _ in found} == set(URLS)


def test_an_index_of_which_the_ledger_notes_no_lists(crawl: IndexedCrawl) -> None:
    dataset = crawl.crawl_dir.dataset(INDEX)
    ledger = dataset.require_current()
    outputs = {**ledger.notes[OUTPUTS]["tantivy"], "sums": {}}
    former = replace(ledger, notes={**ledger.notes, OUTPUTS: {"tantivy": outputs}})
    dataset.manifest_file(ledger.number).write(former.as_dict())
    assert output_faults(crawl.crawl_dir, deep=True)[0] == []
    assert [name.partition("/")[0] for name in unnoted_folders(crawl.crawl_dir)] == ["tantivy"] * 2
    (line,) = index_remarks(crawl.crawl_dir, [])
    assert line.startswith("2 folders of the index") and "--rebuild" in line
    found = _pages(crawl)
    assert found is not None and len(found) == len(URLS)
    crawl.rounds = 2
    crawl.round({url: Page(f"alpha three {url}") for url in URLS})
    crawl.index()
    assert unnoted_folders(crawl.crawl_dir) == [] == index_remarks(crawl.crawl_dir, [])
    assert output_faults(crawl.crawl_dir, deep=True)[0] == []


def test_an_index_that_has_become_empty(crawl: IndexedCrawl) -> None:
    """Its list must not name folders that are not there any more."""
    shutil.rmtree(Path(crawl.address, "segments"))
    crawl.rounds = 2
    crawl.round({"http://gone.org/": Page("", head='<meta name="robots" content="noindex">')})
    crawl.index(rebuild=True)
    assert _pages(crawl) == set()
    assert output_faults(crawl.crawl_dir, deep=True)[0] == []
