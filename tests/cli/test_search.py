"""crawl search: what is printed, the exit codes, and text that attacks the terminal."""

from __future__ import annotations

import shutil
from pathlib import Path
from unittest import mock

import pytest

from crawl.api import crawl as api
from crawl.errors import UsageError
from crawl.search.folders import EmbeddedFolders
from crawl.search.index import EmbeddedIndex
from crawl.search.writer import EmbeddedIndexWriter
from tests.cli.calling import Caller
from tests.installs import only_installed
from tests.search.made import PAGES, index_pages, publish

HOSTILE = {
    "url": "http://evil.example/\x1b]0;owned\x07",
    "title": "Evil \x1b[2J\u202e title",
    "content": "osprey \x1b[31m red \u202e sdrawkcab",
    "lang": "en\x1b",
    "metadata": "\x1b[2J",
}


@pytest.fixture(scope="module")
def crawl_dir(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("crawl")
    index_pages(folder, [*PAGES, HOSTILE])
    return str(folder)


def test_results_for_people(crawl_dir: str, crawl: Caller) -> None:
    shown = crawl("search", crawl_dir, "marathon", "--explain", "--facets", "3")
    assert shown.code == 0
    assert ". Running shoes\n     http://run.example/shoes\n" in shown.out
    assert "for *marathon* runners" in shown.out
    assert "marathon in text: " in shown.out
    assert "fruit.example      1" in shown.out
    assert "search: 2 pages in " in shown.err


def test_pages_that_were_found_and_are_not_shown_are_told(tmp_path: Path, crawl: Caller) -> None:
    texts = ("one about the osprey", "osprey and herring", "why an osprey dives", "osprey eggs")
    pages = [
        {"url": f"http://bird.example/{number}", "title": f"{number}", "content": text}
        for number, text in enumerate(texts)
    ]
    index_pages(tmp_path, pages)
    few = crawl("search", tmp_path, "osprey")
    assert "search: 2 more are not shown: --per-host 0 shows any number of one host" in few.err
    assert "more are not shown" not in crawl("search", tmp_path, "osprey", "--per-host", 0).err
    assert "more are not shown" not in crawl("search", tmp_path, "osprey", "--limit", 2).err
    assert "more are not shown" not in crawl("search", tmp_path, "osprey", "--json").out


def test_results_for_programs(crawl_dir: str, crawl: Caller) -> None:
    found = crawl("search", crawl_dir, "東京", "--json", "--limit", "1").json
    assert found["total"] == 1
    assert found["results"][0]["url"] == "http://tenki.example/tokyo"
    with api.open(crawl_dir) as web:
        assert web.search("東京")["results"] == found["results"]
        for wrong in ({"limit": 0}, {"limit": None}, {"offset": None}, {"query": None}):
            with pytest.raises(UsageError):
                web.search(**{"query": "東京", **wrong})  # type: ignore[arg-type]


def test_the_word_that_was_meant_is_offered(crawl_dir: str, crawl: Caller) -> None:
    shown = crawl("search", crawl_dir, "maraton", "shoes")
    assert "search: did you mean: marathon shoes\n" in shown.err
    found = crawl("search", crawl_dir, "maraton", "shoes", "--json").json
    assert found["didYouMean"] == "marathon shoes"
    with api.open(crawl_dir) as web:
        assert web.search("maraton shoes")["didYouMean"] == "marathon shoes"
        assert web.search("marathon shoes")["didYouMean"] == ""


def test_nothing_is_obeyed(crawl_dir: str, crawl: Caller) -> None:
    for options in ([], ["--json"], ["--explain", "--facets", "9"]):
        shown = crawl("search", crawl_dir, "osprey \x1b", *options)
        assert shown.code == 0
        assert "\x1b" not in shown.out + shown.err
        assert "\u202e" not in shown.out + shown.err
        assert "osprey" in shown.out


def test_wrong_input_is_one_line(crawl_dir: str, tmp_path: Path, crawl: Caller) -> None:
    assert crawl("search", crawl_dir, "zzzzqqqq").code == 1
    wrong = crawl("search", crawl_dir, "titel:x")
    assert (wrong.code, wrong.err.count("\n")) == (2, 1)
    assert "did you mean 'title'" in wrong.err
    missing = crawl("search", tmp_path, "x")
    assert missing.code == 2
    assert "has no embedded index yet" in missing.err
    folders = EmbeddedFolders.of_crawl(str(tmp_path))
    publish(folders, ["../../etc"])
    assert "names no folders of an index" in crawl("search", tmp_path, "x").err
    publish(folders, ["missing"])
    gone = crawl("search", tmp_path, "x")
    assert (gone.code, gone.err.count("\n")) == (2, 1)


def test_without_the_extra_it_is_told_what_to_install(crawl_dir: str, crawl: Caller) -> None:
    with only_installed():
        refused = crawl("search", crawl_dir, "marathon")
    assert refused.code == 2
    assert refused.err == "crawl: the embedded index needs tantivy: pip install '.[search]'\n"
    assert crawl("search", crawl_dir, "marathon").code == 0


def test_the_index_stays_open_until_its_handle_is_closed(crawl_dir: str) -> None:
    with (
        mock.patch("crawl.readers.search.search.EmbeddedIndex", wraps=EmbeddedIndex) as opened,
        api.open(crawl_dir) as web,
    ):
        for words in ("marathon", "osprey"):
            assert web.search(words)["total"]
        assert opened.call_count == 1
    with api.open(crawl_dir) as other:
        assert other.search(["osprey", "red"])["query"] == "osprey red"


def test_a_newly_published_index_is_searched_and_the_old_one_swept(tmp_path: Path) -> None:
    index_pages(tmp_path, PAGES, shards=1)
    with api.open(str(tmp_path)) as web:
        assert web.search("marathon")["total"] == 2
        folders = EmbeddedFolders.of_crawl(str(tmp_path))
        base, new = folders.folder.path("shard-0"), folders.folder.path("shard-0b")
        with EmbeddedIndexWriter.start_from(base, new) as writer:
            writer.delete("http://fruit.example/a")
        assert web.search("marathon")["total"] == 2
        publish(folders, ["shard-0b"])
        assert web.search("marathon")["total"] == 1
        shutil.rmtree(base)
        assert web.search("marathon")["total"] == 1
    assert sorted(path.name for path in (tmp_path / "index/tantivy").iterdir()) == [
        "FOLDERS",
        "FOLDERS.copy",
        "shard-0b",
    ]


def test_an_index_that_is_replaced_while_it_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index_pages(tmp_path, PAGES, shards=1)
    folders = EmbeddedFolders.of_crawl(str(tmp_path))
    names = EmbeddedFolders.names

    def replaced(self: EmbeddedFolders) -> list[str] | None:
        found = names(self)
        if found == ["shard-0"]:  # which is deleted when it was read that it is the index
            Path(folders.folder.path("shard-0")).rename(folders.folder.path("shard-0b"))
            publish(folders, ["shard-0b"])
        return found

    monkeypatch.setattr(EmbeddedFolders, "names", replaced)
    with api.open(str(tmp_path)) as web:
        assert web.search("marathon")["total"] == 2


def test_no_table_of_nothing(crawl_dir: str, crawl: Caller) -> None:
    shown = crawl("search", crawl_dir, "zzzzqqqq", "--facets", "3")
    assert (shown.code, shown.out) == (1, "")
    wrong = crawl("search", crawl_dir, "marathon", "--facets", 1 << 40)
    assert (wrong.code, wrong.err.count("\n")) == (2, 1) and "facets" in wrong.err
