"""Which word was meant by a misspelt one."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
import tantivy

from crawl.search import typos
from crawl.search.answers import SearchOptions
from crawl.search.index import EmbeddedIndex
from tests.search.made import index_pages, opened

NOW_MS = 1_800_000_000_000
TEXTS = (
    *(("en", "Vacuum and analyze the tables: a VACUUM analyzes them too, number {}"),) * 30,
    ("en", "A vaccine is no vacum, but it is analysed"),
    ("en", "The rare page on vaccuming tables, and only this one says vacumm"),
    ("de", "Die Häuser am Rhein werden täglich gesäubert"),
    ("", "Partitioning of tables, constraints and triggers"),
)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> EmbeddedIndex:
    folder = tmp_path_factory.mktemp("crawl")
    pages = [
        {"url": f"http://h{number}.example/", "content": text.format(number), "lang": language}
        for number, (language, text) in enumerate(TEXTS)
    ]
    index_pages(folder, pages)
    return opened(folder)


@pytest.mark.parametrize(
    ("query", "meant"),
    [
        ("vaccum anlyze", "vacuum analyze"),
        ("Vaccum tables -oracle", "vacuum tables -oracle"),
        ("lang:en anlyze", "lang:en analyze"),
        ("-host:vaccum.example vaccum", "-host:vaccum.example vacuum"),
        ("-vaccum text:vaccum", "-vaccum text:vacuum"),
        ("vaccum vaccum", "vacuum vacuum"),
        ("gesaubrt am rhien", "gesäubert am rhein"),
        ("partitoning constrants", "partitioning constraints"),
        ("vacumm", "vacuum"),  # one page has it, and thirty the other
        ("vacuum analyze", ""),
        ("rhein", ""),
        ("zzzzqqqq", ""),
        ("partitioning", ""),
        ("-vaccum tables", ""),
        ('"vaccum anlyze"', ""),
    ],
)
def test_did_you_mean(index: EmbeddedIndex, query: str, meant: str) -> None:
    answer = index.search(query, NOW_MS)
    assert answer.did_you_mean == meant
    assert answer.values()["didYouMean"] == meant
    exact = index.search(query, NOW_MS, SearchOptions(typos=False))
    assert exact.did_you_mean == ""


def test_a_query_of_many_misspelt_words_is_bounded_work(
    index: EmbeddedIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: Counter[str] = Counter()
    fuzzy_query = typos.fuzzy_query

    def counted(field: str, token: str, distance: int) -> tantivy.Query:
        asked[token] += 1
        return fuzzy_query(field, token, distance)

    monkeypatch.setattr(typos, "fuzzy_query", counted)
    answer = index.search(" ".join(["vaccum", "anlyze", "tabels", "partitoning"] * 8), NOW_MS)
    assert answer.did_you_mean.startswith("vacuum analyze tables partitioning")
    assert asked.total() <= typos.MAX_WORDS * 60


def test_an_empty_index_means_nothing(tmp_path: Path) -> None:
    index_pages(tmp_path, [])
    assert opened(tmp_path).search("vaccum", NOW_MS).did_you_mean == ""
