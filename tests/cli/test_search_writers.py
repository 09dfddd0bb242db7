"""crawl search finds the embedded index by the configuration of the index writers, whatever their
ids are."""

from __future__ import annotations

from pathlib import Path

import pytest

from crawl.api import crawl as api
from crawl.errors import UsageError
from tests.cli.calling import Answer, Caller
from tests.phases.indexed import IndexedCrawl, Page
from tests.search.made import PAGES, index_pages

A = "http://a.com/"
TWO_WRITERS = """
[[writer]]
id = "runs"
plugin = "tantivy"
[[writer]]
id = "fruit"
plugin = "crawl.plugins.indexwriter.tantivy:TantivyIndexWriter"
[[writer]]
id = "docs"
plugin = "jsonl"
[[writer]]
id = "away"
plugin = "of_a_package_that_is_not_here"
[writer.parameters]
password = "${NOT_SET_HERE}"
"""


@pytest.fixture
def writers(tmp_path: Path) -> str:
    """The file of writers, beside which `crawl` has the indexes of two of them."""
    rules = tmp_path / "writers.toml"
    rules.write_text(TWO_WRITERS)
    index_pages(tmp_path / "crawl", PAGES[:1], shards=1, writer="runs")
    index_pages(tmp_path / "crawl", PAGES[-1:], shards=1, writer="fruit")
    return f"index.writers.file={rules}"


def _urls(answer: Answer) -> list[str]:
    assert answer.code == 0, answer.err
    return [page["url"] for page in answer.json["results"]]


def test_the_active_writer_is_searched_by_whatever_id(
    writers: str, tmp_path: Path, crawl: Caller
) -> None:
    for active, url in (("runs", PAGES[0]["url"]), ("docs,fruit", PAGES[-1]["url"])):
        options = ["-D", f"index.writers={active}", "-D", writers, "--json"]
        assert _urls(crawl("search", tmp_path / "crawl", "marathon", *options)) == [url]


def test_of_several_one_is_chosen(writers: str, tmp_path: Path, crawl: Caller) -> None:
    for options in ([], ["-D", "index.writers=runs,fruit"], ["-D", "index.writers=docs"]):
        asked = crawl("search", tmp_path / "crawl", "marathon", "-D", writers, *options)
        assert (asked.code, asked.err.count("\n")) == (2, 1)
        assert "(runs, fruit): choose one (--writer)" in asked.err
    chosen = ["--writer", "fruit", "-D", writers, "--json"]
    assert _urls(crawl("search", tmp_path / "crawl", "marathon", *chosen)) == [PAGES[-1]["url"]]
    name, _, value = writers.partition("=")
    with api.open(str(tmp_path / "crawl"), settings={name: value}) as web:
        for writer, place in (("runs", 0), ("fruit", -1), ("runs", 0)):
            found = web.search("marathon", writer=writer)["results"]
            assert [page["url"] for page in found] == [PAGES[place]["url"]]
        with pytest.raises(UsageError, match="choose one"):
            web.search("marathon")


@pytest.mark.parametrize(
    ("writer", "line"),
    [
        ("friut", "no index writer is called 'friut' (did you mean 'fruit'"),
        ("../../etc", "no index writer is called '../../etc' (there is runs, fruit)"),
        ("docs", "the index writer docs has no embedded index (there is runs, fruit)"),
        ("tantivy", "-D index.writers=tantivy` makes one"),
    ],
)
def test_a_writer_that_has_none_is_one_line(
    writer: str, line: str, writers: str, tmp_path: Path, crawl: Caller
) -> None:
    wrong = crawl("search", tmp_path / "crawl", "marathon", "--writer", writer, "-D", writers)
    assert (wrong.code, wrong.err.count("\n"), wrong.out) == (2, 1, "")
    assert line in wrong.err


def test_without_an_index_the_line_says_what_makes_one(tmp_path: Path, crawl: Caller) -> None:
    missing = crawl("search", tmp_path, "x", "-D", "index.writers=jsonl")
    assert missing.code == 2
    assert "-D index.writers=tantivy` makes one" in missing.err


def test_an_index_of_a_writer_that_is_configured_no_more(tmp_path: Path, crawl: Caller) -> None:
    rules = tmp_path / "writers.toml"
    elsewhere = tmp_path / "elsewhere"
    rules.write_text(
        "[[writer]]\nid='main'\nplugin='tantivy'\n"
        f"parameters={{path='{elsewhere}'}}\n[[writer]]\nid='docs'\nplugin='jsonl'\n"
    )
    made = IndexedCrawl(tmp_path, "main,docs", index__writers__file=str(rules))
    made.round({A: Page("alpha one")})
    made.index()
    assert (elsewhere / "FOLDERS").exists()
    # the ledger knows where it is, and its files say what it is
    assert _urls(crawl("search", made.address, "alpha", "--json")) == [A]
    assert _urls(crawl("search", made.address, "alpha", "--json", "--writer", "main")) == [A]
    # and without the ledger the configuration does
    (Path(made.address) / "index").rename(tmp_path / "lost")
    options = ["--json", "-D", f"index.writers.file={rules}"]
    assert _urls(crawl("search", made.address, "alpha", *options)) == [A]
