"""How much work a query may cause that looks for words with typos."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
import tantivy

from crawl.search import query_plan, typos
from crawl.search.answers import SearchOptions
from crawl.search.index import EmbeddedIndex
from crawl.search.writer import EmbeddedIndexWriter
from tests.search.made import PAGES, index_pages, opened

NOW_MS = 1_800_000_000_000


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> EmbeddedIndex:
    folder = tmp_path_factory.mktemp("crawl")
    index_pages(folder, PAGES)
    return opened(folder)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each word was looked for with typos."""
    found: Counter[str] = Counter()
    fuzzy_query = typos.fuzzy_query

    def counted(field: str, token: str, distance: int) -> tantivy.Query:
        found[token] += 1
        return fuzzy_query(field, token, distance)

    for module in (typos, query_plan):
        monkeypatch.setattr(module, "fuzzy_query", counted)
    return found


def unknown(count: int, letters: int = 10) -> list[str]:
    """Words that are on no page, nor near one."""
    return ["qx" + chr(ord("a") + n % 26) * (letters - 3) + "zyxwv"[n // 26] for n in range(count)]


def test_words_beyond_the_bound_are_told_and_not_looked_for(
    index: EmbeddedIndex, asked: Counter[str]
) -> None:
    words = unknown(31)
    answer = index.search(" ".join(words), NOW_MS)
    assert (answer.total, answer.corrected) == (0, ())
    assert answer.uncorrected == tuple(words[typos.MAX_WORDS :])
    assert answer.values()["uncorrected"] == words[typos.MAX_WORDS :]
    assert len(asked) == typos.MAX_WORDS
    fields = max(asked.values())
    assert asked.total() <= typos.MAX_WORDS * fields
    alone: Counter[str] = Counter(asked)
    asked.clear()
    index.search(words[0], NOW_MS)
    assert asked[words[0]] == alone[words[0]], "a word costs the same among others"


def test_near_words_are_looked_for_a_few_times_however_many_words_there_are(
    index: EmbeddedIndex, asked: Counter[str]
) -> None:
    """Where no page has all words, those with most are found by halving, not one by one."""
    index.search("maraton", NOW_MS)
    alone = asked["maraton"]
    assert alone
    asked.clear()
    answer = index.search(" ".join(["maraton", "shoes", *unknown(29)]), NOW_MS)
    assert asked["maraton"] <= 8 * alone
    assert answer.corrected == ("maraton",)
    assert not answer.total, "two of thirty-one words are too few"
    assert index.search(" ".join(["maraton", "shoes", *unknown(3)]), NOW_MS).is_relaxed


def test_fields_and_folders_count_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index_pages(tmp_path, PAGES)
    found = opened(tmp_path)
    monkeypatch.setattr(typos, "MAX_LOOKUPS", 1)
    first, second = "maraton", "shoxes"
    answer = found.search(f"{first} {second}", NOW_MS)
    assert answer.corrected == (first,), "the first is looked for in any case"
    assert answer.uncorrected == (second,)
    monkeypatch.undo()
    assert found.search(f"{first} {second}", NOW_MS).uncorrected == ()


def test_a_word_that_only_deleted_pages_had_is_looked_for_with_typos(tmp_path: Path) -> None:
    """tantivy counts them until it merges them away."""
    first, then = str(tmp_path / "first"), str(tmp_path / "then")
    slip = {"url": "http://slip.example/", "content": "vaccum the tabels", "lang": "en"}
    with EmbeddedIndexWriter(first) as writer:
        writer.add({"url": "http://a.example/", "content": "vacuum the tables", "lang": "en"})
        writer.add(slip)
    with EmbeddedIndexWriter.start_from(first, then) as writer:
        writer.delete(str(slip["url"]))
    assert EmbeddedIndex([first]).search("vaccum", NOW_MS).corrected == ()
    answer = EmbeddedIndex([then]).search("vaccum tables", NOW_MS)
    assert [hit.record.url for hit in answer.hits] == ["http://a.example/"]
    assert (answer.corrected, answer.did_you_mean) == (("vaccum",), "vacuum tables")


@pytest.mark.parametrize(
    "query",
    [
        " ".join(unknown(32)),
        "q" * 1000,
        " ".join(["q" * 30] * 32),
        " ".join(f'"{a} {b}"' for a, b in zip(unknown(16), unknown(32)[16:], strict=True)),
        " OR ".join(unknown(16)),
        "(" * 500 + "qqqqqq" + ")" * 490,
        " ".join(f"{word}*" for word in unknown(32)),
        " ".join(f"-{word}" for word in unknown(32)),
        " ".join(f"title:{word}" for word in unknown(32)),
        " ".join(f"{word}~2" for word in unknown(32)),
        "ğüşöç" * 200,
        "京" * 1000,
        ".*.*.*.*" * 100,
    ],
)
def test_no_query_causes_more_work(index: EmbeddedIndex, asked: Counter[str], query: str) -> None:
    answer = index.search(query, NOW_MS, SearchOptions(facets=5, explain=True))
    assert len(asked) <= typos.MAX_WORDS * 4, "a word is cut differently by languages"
    assert asked.total() <= typos.MAX_WORDS * 40
    exact = index.search(query, NOW_MS, SearchOptions(typos=False))
    assert not exact.corrected and not exact.uncorrected
    assert answer.total >= exact.total
