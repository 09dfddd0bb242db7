"""Scores are plain BM25 over the whole collection, whatever the language and folder of a page."""

from __future__ import annotations

import math
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawl.search.answers import SearchAnswer, SearchOptions
from crawl.search.index import EmbeddedIndex
from crawl.search.languages import group_of
from crawl.search.ranking import Weights
from crawl.search.schema import analyzer
from crawl.search.writer import EmbeddedIndexWriter
from tests.examples import scaled

NOW_MS = 1_800_000_000_000
WEIGHTS = Weights(link=0, freshness=0, phrase=0)
ALL = SearchOptions(limit=100, per_host=0, collapse=False, typos=False)
K1, B = 1.2, 0.75
MISSING = {"title": 6, "anchor": 4}
"""As how long a title counts, and anchors, that a page has not."""

WORDS = ("zoku", "mival", "tarno", "running", "runs", "houses", "maisons", "häuser", "trigger")
LANGUAGES = ("en", "de", "fr", "ru", "", "pl", "ja")
UNTOUCHED = ("ru", "el", "ar", "ta", "", "ja")
"""Languages whose stemmers, if they have one, leave Latin letters alone."""

texts = st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join)


@dataclass(frozen=True)
class Page:
    """A page; its parts have fewer than forty words: longer ones tantivy counts in steps."""

    title: str
    content: str
    anchor: str
    rest: str
    language: str
    folder: int

    def fields(self, number: int) -> dict[str, object]:
        return {
            "url": f"http://h{number}.example/p",
            "title": self.title,
            "content": self.content,
            "anchor": [self.anchor] if self.anchor else [],
            "rest": self.rest,
            "lang": self.language,
        }


def page_of(languages: tuple[str, ...]) -> st.SearchStrategy[Page]:
    some = st.just("") | texts
    return st.builds(
        Page,
        title=some,
        content=texts,
        anchor=some,
        rest=some,
        language=st.sampled_from(languages),
        folder=st.integers(0, 2),
    )


def searched(
    pages: list[Page], queries: list[str], weights: Weights = WEIGHTS
) -> list[SearchAnswer]:
    with tempfile.TemporaryDirectory() as place:
        folders = [str(Path(place) / str(number)) for number in range(3)]
        for number, folder in enumerate(folders):
            with EmbeddedIndexWriter(folder) as writer:
                for place_of, page in enumerate(pages):
                    if page.folder == number:
                        writer.add(page.fields(place_of), replaces=False)
        index = EmbeddedIndex(folders, weights)
        return [index.search(query, NOW_MS, ALL) for query in queries]


def bm25(pages: list[Page], query: str) -> dict[str, float]:
    """The pages with all words and what the words are worth there: by the field where a word counts
    most and a share of the others, in a field by the form that counts most."""
    weighted = WEIGHTS.of_kinds
    cut = [
        {
            kind: Counter(analyzer(group_of(page.language)).analyze(getattr(page, kind)))
            for kind in weighted
        }
        for page in pages
    ]
    lengths = {
        kind: [each[kind].total() or MISSING.get(kind, 0) for each in cut] for kind in weighted
    }
    scores = [0.0] * len(pages)
    has_all = [True] * len(pages)
    groups = {group_of(page.language) for page in pages}
    for word in query.split():
        forms = {analyzer(group).analyze(word)[0] for group in groups}
        having = max(sum(form in each[kind] for each in cut for form in forms) for kind in weighted)
        having = min(having, len(pages))
        idf = math.log(1 + (len(pages) - having + 0.5) / (having + 0.5))
        for number, each in enumerate(cut):
            shares = []
            for kind, weight in weighted.items():
                average = sum(lengths[kind]) / len(pages)
                times = max(each[kind][form] for form in forms)
                if times:
                    norm = K1 * (1 - B + B * lengths[kind][number] / average)
                    shares.append(weight * idf * (K1 + 1) * times / (times + norm))
            has_all[number] &= bool(shares)
            best = max(shares, default=0.0)
            scores[number] += best + WEIGHTS.other_fields * (sum(shares) - best)
    return {
        f"http://h{number}.example/p": score
        for number, score in enumerate(scores)
        if has_all[number]
    }


@settings(max_examples=scaled(100), deadline=None)
@given(
    pages=st.lists(page_of(LANGUAGES), min_size=1, max_size=12),
    queries=st.lists(
        st.lists(st.sampled_from(WORDS), min_size=1, max_size=3, unique=True).map(" ".join),
        min_size=1,
        max_size=4,
    ),
)
def test_scores_are_bm25_of_the_whole_collection(pages: list[Page], queries: list[str]) -> None:
    for query, answer in zip(queries, searched(pages, queries), strict=True):
        expected = bm25(pages, query)
        if answer.is_relaxed or not expected:
            assert not expected
            continue
        found = {hit.record.url: hit.score for hit in answer.hits}
        assert found == pytest.approx(expected, rel=1e-3)


@settings(max_examples=scaled(60), deadline=None)
@given(data=st.data())
def test_the_same_texts_under_other_labels_and_in_other_folders_rank_the_same(
    data: st.DataObject,
) -> None:
    pages = data.draw(st.lists(page_of(UNTOUCHED), min_size=1, max_size=12))
    others = [
        Page(
            page.title,
            page.content,
            page.anchor,
            page.rest,
            data.draw(st.sampled_from(UNTOUCHED)),
            data.draw(st.integers(0, 2)),
        )
        for page in pages
    ]
    queries = ["zoku", "running", "zoku mival", "trigger zoku houses"]
    weights = Weights(link=0, freshness=0)
    for one, other in zip(
        searched(pages, queries, weights), searched(others, queries, weights), strict=True
    ):
        scores = {hit.record.url: hit.score for hit in one.hits}
        assert {hit.record.url: hit.score for hit in other.hits} == pytest.approx(scores, rel=1e-4)


def test_words_beside_each_other_count_alike_in_every_folder() -> None:
    """tantivy looks for a phrase with room in it, from the word on that fewest pages of a segment
    have: it found these three words, which stand in another order, in one folder and not in two."""
    texts = ("", "zoku", "zoku trigger houses")
    together, apart = (
        searched(
            [
                Page("", text, "", "", "", folder)
                for text, folder in zip(texts, folders, strict=True)
            ],
            ["trigger zoku houses"],
            Weights(link=0, freshness=0),
        )[0].hits[0]
        for folders in ((0, 0, 0), (0, 0, 1))
    )
    assert together.record.url == apart.record.url
    assert together.score == pytest.approx(apart.score, rel=1e-4)


def test_no_word_counts_more_than_its_bound_on_a_page_of_a_rare_language() -> None:
    """A German page among 200 English ones with a word ten times: BM25 knows no more than
    (k1 + 1) × idf."""
    filler = "one two three four five six seven eight nine ten"
    pages = [Page("", f"{filler} trigger", "", "", "en", n % 3) for n in range(200)]
    pages.append(Page("", "trigger " * 10, "", "", "de", 0))
    (answer,) = searched(pages, ["trigger"])
    idf = math.log(1 + 0.5 / 201.5)
    assert max(hit.score for hit in answer.hits) <= 2.2 * idf * 1.001
