"""An index that is damaged: each command says it in one line with what to do, check names the
file, and rebuilding mends it. Nothing is answered wrongly in silence."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.calling import Answer, Caller
from tests.cli.indexing_here import index_in_this_process
from tests.phases.indexed import FILE_WRITERS, GONE, IndexedCrawl, Page

pytestmark = pytest.mark.slow(seconds=20)

URLS = tuple(f"http://h{number}.com/" for number in range(12))
LOST = (URLS[0], URLS[7])  # of one shard each
WRITERS = ("-D", f"index.writers={','.join(FILE_WRITERS)}")


def _removed(file: Path) -> None:
    file.unlink()


def _cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-7])


def _emptied(file: Path) -> None:
    file.write_bytes(b"")


def _garbled(file: Path) -> None:
    raw = bytearray(file.read_bytes())
    for place in random.Random(file.suffix).sample(range(len(raw)), 3):
        raw[place] ^= 0x55
    file.write_bytes(raw)


DAMAGES = (_removed, _cut, _emptied, _garbled)


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl whose pages are in every file writer, and a round that is not indexed yet: it
    changes pages of both shards, and some are gone."""
    folder = tmp_path_factory.mktemp("indexed")
    crawl = IndexedCrawl(folder, ",".join(FILE_WRITERS))
    crawl.round({url: Page(f"alpha{place} one") for place, url in enumerate(URLS)})
    crawl.index()
    crawl.round(
        dict.fromkeys(LOST, GONE)
        | {url: Page(f"alpha {url} two") for url in URLS[5:10] if url not in LOST}
    )
    return folder


@pytest.fixture
def damaged(indexed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> IndexedCrawl:
    index_in_this_process(monkeypatch)
    shutil.copytree(indexed, tmp_path / "copy")
    return IndexedCrawl(tmp_path / "copy", ",".join(FILE_WRITERS))


def _one_line(answer: Answer, *texts: str) -> None:
    assert (answer.code, answer.err.count("\n"), answer.out) == (2, 1, ""), answer
    for text in texts:
        assert text in answer.err


def _require_whole_after_rebuild(crawl: Caller, damaged: IndexedCrawl) -> None:
    done = crawl("index", damaged.address, *WRITERS, "--rebuild", "--json")
    assert done.json["documents"] == dict.fromkeys(FILE_WRITERS, len(URLS) - len(LOST)), done
    assert crawl("check", damaged.address, "--deep").code == 0
    for writer in FILE_WRITERS:
        assert set(damaged.documents(writer)) == set(URLS) - set(LOST)


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("writer", ["jsonl", "csv", "parquet"])
def test_a_file_of_a_writer(
    damaged: IndexedCrawl, crawl: Caller, writer: str, damage: Callable[[Path], None]
) -> None:
    file = max(Path(damaged.address, "index", writer).glob("part-*"), key=lambda it: it.name)
    damage(file)
    checked = crawl("check", damaged.address, "--deep")
    assert checked.code == 1
    assert f"index/{writer}/{file.name}" in checked.out and "--rebuild" in checked.err
    if damage is not _garbled:  # which is seen by whoever reads all of it
        assert crawl("check", damaged.address).code == 1
    before = Path(damaged.address, "index", "CURRENT").read_bytes()
    for command in ("index", "clean"):
        answer = crawl(command, damaged.address, *WRITERS)
        _one_line(answer, f"index/{writer}/{file.name} is damaged: ", "--rebuild")
    assert Path(damaged.address, "index", "CURRENT").read_bytes() == before
    _require_whole_after_rebuild(crawl, damaged)


def _files_of_shard(crawl: IndexedCrawl) -> list[Path]:
    folders = sorted(Path(crawl.address, "index", "tantivy").glob("part-*"))
    names = (".store", ".term", ".idx", ".fast", ".pos", ".fieldnorm")
    return [file for file in sorted(folders[-1].iterdir()) if file.name.endswith(names)]


@pytest.mark.parametrize("damage", DAMAGES)
def test_any_file_of_the_embedded_index(
    damaged: IndexedCrawl, crawl: Caller, damage: Callable[[Path], None]
) -> None:
    files = _files_of_shard(damaged)
    assert len(files) >= 6
    for file in [*files, files[0].with_name("meta.json")]:
        whole = file.read_bytes()
        damage(file)
        _one_line(crawl("search", damaged.address, "alpha"), "--rebuild", file.parent.name)
        checked = crawl("check", damaged.address)
        assert checked.code == 1 and f"index/tantivy/{file.parent.name}" in checked.out
        file.write_bytes(whole)
    damage(files[0])
    for command in ("index", "clean"):
        _one_line(crawl(command, damaged.address, *WRITERS), files[0].parent.name, "--rebuild")
    _require_whole_after_rebuild(crawl, damaged)
    assert crawl("search", damaged.address, "alpha", "--per-host", "0").code == 0


def test_an_index_of_an_older_format(damaged: IndexedCrawl, crawl: Caller) -> None:
    for folder in Path(damaged.address, "index", "tantivy").glob("part-*"):
        (folder / "nutria-index.json").write_text(json.dumps({"format": 0}))
    for command in (["search", "alpha"], ["index"], ["clean"]):
        settings = WRITERS if command[0] != "search" else ()
        answer = crawl(command[0], damaged.address, *command[1:], *settings)
        _one_line(answer, "is of format 0, and this release reads format 2", "--rebuild")
    _require_whole_after_rebuild(crawl, damaged)


@pytest.mark.parametrize("damage", DAMAGES)
def test_the_list_of_folders(
    damaged: IndexedCrawl,
    crawl: Caller,
    caplog: pytest.LogCaptureFixture,
    damage: Callable[[Path], None],
) -> None:
    place = Path(damaged.address, "index", "tantivy")
    damage(place / "FOLDERS")
    assert crawl("search", damaged.address, "alpha").code == 0  # from the copy
    assert "index/tantivy/FOLDERS" in crawl("check", damaged.address).out
    damage(place / "FOLDERS.copy")
    # the ledger knows them too
    answer = crawl("search", damaged.address, "one", "--json", "--limit", "50", "--duplicates")
    assert {hit["url"] for hit in answer.json["results"]} == set(URLS)
    assert "FOLDERS does not name what is published" in caplog.text
    assert f"`crawl index {damaged.address}` completes it" in caplog.text
    checked = crawl("check", damaged.address)
    assert checked.code == 1 and "--repair` writes them" in checked.err
    pointers = [place.with_name(name) for name in ("CURRENT", "CURRENT.copy")]
    for file in pointers:
        file.rename(file.with_name(f"{file.name}.aside"))
    _one_line(crawl("search", damaged.address, "alpha"), "FOLDERS is ", "--rebuild")
    for file in pointers:
        file.with_name(f"{file.name}.aside").rename(file)
    assert crawl("clean", damaged.address, *WRITERS).code == 0  # all that it says is known
    assert crawl("check", damaged.address, "--deep").code == 0
    assert crawl("search", damaged.address, "alpha").code == 0


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_file_of_the_ledger(
    damaged: IndexedCrawl, crawl: Caller, damage: Callable[[Path], None]
) -> None:
    file = sorted(Path(damaged.address, "index", "snapshots").rglob("*.parquet"))[-1]
    damage(file)
    checked = crawl("check", damaged.address, "--deep")
    assert checked.code == 1 and file.name in checked.out
    for command in ("index", "clean"):
        _one_line(crawl(command, damaged.address, *WRITERS), file.name)
    _require_whole_after_rebuild(crawl, damaged)


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_noted_of_pages_that_are_kept_out(
    damaged: IndexedCrawl, crawl: Caller, damage: Callable[[Path], None]
) -> None:
    damaged.index(delete_gone=True)
    damaged.rounds = 2
    damaged.round({URLS[1]: Page("alpha one"), URLS[2]: GONE})
    file = sorted(Path(damaged.address, "index", "snapshots").rglob("kept-*.parquet"))[-1]
    damage(file)
    checked = crawl("check", damaged.address, "--deep")
    assert checked.code == 1 and file.name in checked.out
    for command in ("index", "clean"):
        _one_line(crawl(command, damaged.address, *WRITERS), file.name)
    assert crawl("index", damaged.address, *WRITERS, "--rebuild").code == 0
    assert crawl("check", damaged.address, "--deep").code == 0
    assert set(damaged.documents()) == set(URLS) - {*LOST, URLS[2]}


@pytest.mark.parametrize("damage", DAMAGES[1:])
def test_what_names_the_ledger(
    damaged: IndexedCrawl, crawl: Caller, damage: Callable[[Path], None]
) -> None:
    for name in ("CURRENT", "CURRENT.copy"):
        damage(Path(damaged.address, "index", name))
    for file in Path(damaged.address, "index", "snapshots").rglob("manifest*"):
        damage(file)
    for command in ("index", "clean"):
        _one_line(crawl(command, damaged.address, *WRITERS), "damaged", "check")
    assert crawl("check", damaged.address).code == 1
    repaired = crawl("check", damaged.address, "--repair")
    assert "crawl index" in repaired.err
    done = crawl("index", damaged.address, *WRITERS, "--json")
    assert done.json["documents"] == dict.fromkeys(FILE_WRITERS, len(URLS) - len(LOST))
    assert crawl("check", damaged.address, "--deep").code == 0


def test_a_rebuild_with_other_writers_does_not_forget_the_others(
    damaged: IndexedCrawl, crawl: Caller
) -> None:
    file = sorted(Path(damaged.address, "index", "snapshots").rglob("*.parquet"))[-1]
    _emptied(file)
    answer = crawl("index", damaged.address, "-D", "index.writers=jsonl", "--rebuild")
    _one_line(answer, file.name)
    _require_whole_after_rebuild(crawl, damaged)
