"""What a search finds, in which order, and what hostile queries and pages do to it."""

from __future__ import annotations

import json
import random
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawl.errors import StorageError, UsageError
from crawl.search.answers import SearchAnswer, SearchOptions
from crawl.search.index import EmbeddedIndex
from crawl.search.ranking import Weights
from tests.examples import scaled
from tests.search.made import PAGES, index_pages, opened

NOW_MS = 1_800_000_000_000
DAY_MS = 86_400_000


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> EmbeddedIndex:
    folder = tmp_path_factory.mktemp("crawl")
    index_pages(folder, PAGES)
    return opened(folder)


def urls(answer: SearchAnswer) -> list[str]:
    return [hit.record.url for hit in answer.hits]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("runner", ["http://run.example/shoes"]),
        ("RUNNING marathons", ["http://run.example/shoes"]),
        ("haus", ["http://haus.example/koeln"]),
        ("schone hauser koln", ["http://haus.example/koeln"]),
        ("東京", ["http://tenki.example/tokyo"]),
        ("東京の天気", ["http://tenki.example/tokyo"]),
        ("京", ["http://pku.example/", "http://tenki.example/tokyo"]),
        ("学", ["http://pku.example/"]),
        ('"北京大学"', ["http://pku.example/"]),
        ('"京北大学"', []),
        ("수도", ["http://seoul.example/"]),
        ("เมืองหลวง", ["http://thai.example/"]),
        ("maraton shoes", ["http://run.example/shoes"]),
        ('"running shoes"', ["http://run.example/shoes"]),
        ('"shoes running"', []),
        ("marathon -apples", ["http://run.example/shoes"]),
        ("title:fruit", ["http://fruit.example/a"]),
        ("title:marathon", []),
        ("url:koeln", ["http://haus.example/koeln"]),
        ("url:http://haus.example/koeln", ["http://haus.example/koeln"]),
        ("https://www.haus.example/koeln", ["http://haus.example/koeln"]),
        ("host:run.example", ["http://run.example/shoes"]),
        ("site:run.example lang:en", ["http://run.example/shoes"]),
        ("marathon -host:run.example", ["http://fruit.example/a"]),
        ("type:text/html", ["http://fruit.example/a"]),
        ("since:2001-01-01", ["http://fruit.example/a"]),
        ("since:3d", []),
        ("-since:2001-01-01 marathon", ["http://run.example/shoes"]),
        ("-until:2001-01-01 marathon", ["http://fruit.example/a"]),
        ("-apples since:2001-01-01", []),
        ("-shoes since:2001-01-01", ["http://fruit.example/a"]),
        ("lang:ja", ["http://tenki.example/tokyo"]),
        ('field.author:"Jane Doe"', ["http://run.example/shoes"]),
        ("zzzzqqqq", []),
    ],
)
def test_queries(index: EmbeddedIndex, query: str, found: list[str]) -> None:
    assert sorted(urls(index.search(query, NOW_MS))) == found


def test_snippets_mark_what_matched(index: EmbeddedIndex) -> None:
    def marked(query: str) -> list[str]:
        hit = index.search(query, NOW_MS).hits[0]
        return [hit.snippet.text[begin:end] for begin, end in hit.snippet.highlights]

    assert marked("runner marathons") == ["marathon", "runners"]
    assert marked("haus koln") == ["Häuser", "Köln"]
    assert marked("東京の天気") == ["東京", "の天気"]
    assert marked("maraton shoes") == ["shoes", "marathon"]
    assert index.search("haus", NOW_MS).hits[0].title.highlights == ((0, 6),)


def test_relaxed_and_corrected_are_told(index: EmbeddedIndex) -> None:
    assert index.search("maraton", NOW_MS).corrected == ("maraton",)
    relaxed = index.search("marathon apples shoes", NOW_MS)
    assert relaxed.is_relaxed
    assert len(relaxed.hits) == 2
    assert not index.search("maraton", NOW_MS, SearchOptions(typos=False)).hits


def test_a_result_shows_what_the_page_is(index: EmbeddedIndex) -> None:
    """Every value that was given, in a result as in the index."""
    (found,) = index.search("oranges type:text/html", NOW_MS).values()["results"]
    told = {name: found[name] for name in ("url", "host", "domain", "language", "type", "fetched")}
    assert told == {
        "url": "http://fruit.example/a",
        "host": "fruit.example",
        "domain": "fruit.example",
        "language": "en",
        "type": "text/html",
        "fetched": "2001-09-09T01:46:40+00:00",
    }


@pytest.mark.parametrize(
    "query", ["marathon", "running shoes", "shoes marathon apples", "東京都の天気", "maraton shoes"]
)
def test_what_is_explained_sums_up_to_the_score(index: EmbeddedIndex, query: str) -> None:
    others = Weights().other_fields
    answer = index.search(query, NOW_MS, SearchOptions(explain=True))
    assert answer.hits
    has_beside = []
    for hit in answer.hits:
        assert hit.ranking is not None
        assert hit.ranking.total == hit.score
        shares: dict[str, list[float]] = {}
        for share in hit.ranking.shares:
            shares.setdefault(share.word, []).append(share.value)
        beside = [word for word in shares if word.startswith('"')]
        words = sum(sum(shares.pop(word)) for word in beside)
        words += sum(max(each) * (1 - others) + sum(each) * others for each in shares.values())
        assert hit.ranking.words == pytest.approx(words, rel=1e-4)
        has_beside.append(bool(beside))
    assert has_beside[0] == (query in ("running shoes", "東京都の天気"))


def test_facets_count_all_that_match(index: EmbeddedIndex) -> None:
    answer = index.search("marathon", NOW_MS, SearchOptions(limit=1, facets=5))
    assert answer.facets == {
        "host": {"fruit.example": 1, "run.example": 1},
        "language": {"en": 2},
    }
    assert answer.total == 2
    json.dumps(answer.values())


def page(number: int, **fields: object) -> dict[str, object]:
    return {"url": f"http://h{number}.example/p", "lang": "en", **fields}


def filler(number: int, words: int = 60) -> str:
    chance = random.Random(number)
    return " ".join(f"word{chance.randrange(5000)}" for _ in range(words))


def test_fields_links_and_age_decide_the_order(tmp_path: Path) -> None:
    text = filler(0)
    pages = [
        page(1, title="Other", content=f"{filler(1)} osprey"),
        page(2, title="Osprey", content=filler(2)),
        page(3, title="Other", content=filler(3), anchor=["osprey"]),
        page(4, title="Other", content=f"{filler(4)} osprey", boost=1000.0),
        page(5, title="Kite", content=f"{text} kestrel", lastModified=NOW_MS - DAY_MS),
        page(6, title="Kite", content=f"{filler(6)} kestrel", lastModified=NOW_MS - 9000 * DAY_MS),
    ]
    index_pages(tmp_path, pages, shards=3)
    index = opened(tmp_path)
    by_words = EmbeddedIndex(
        [str(path) for path in (tmp_path / "index/tantivy").glob("shard-*")],
        Weights(link=0, freshness=0),
    )
    assert urls(by_words.search("osprey", NOW_MS))[0] == "http://h2.example/p"
    assert urls(by_words.search("osprey", NOW_MS))[1] == "http://h3.example/p"
    assert urls(index.search("osprey", NOW_MS))[0] == "http://h4.example/p"
    assert urls(index.search("kestrel", NOW_MS)) == ["http://h5.example/p", "http://h6.example/p"]
    answer = index.search("osprey", NOW_MS, SearchOptions(explain=True))
    for hit in answer.hits:
        assert hit.ranking is not None
        assert hit.ranking.total == pytest.approx(hit.score)
        assert sum(share.value for share in hit.ranking.shares) == pytest.approx(
            hit.ranking.words, rel=1e-3
        )
    assert {hit.ranking.shares[0].field for hit in answer.hits if hit.ranking} == {
        "text",
        "title",
        "anchor",
    }


def test_a_folder_of_its_own_does_not_lift_a_page(tmp_path: Path) -> None:
    """A word that is rare in one folder and common in the other counts the same in both."""
    pages = [page(number, content=f"{filler(number)} heron") for number in range(30)]
    index_pages(tmp_path / "one", pages, shards=1)
    index_pages(tmp_path / "many", pages, shards=7)
    options = SearchOptions(limit=30)
    one = opened(tmp_path / "one").search("heron", NOW_MS, options)
    many = opened(tmp_path / "many").search("heron", NOW_MS, options)
    assert sorted(urls(one)) == sorted(urls(many))
    scores = {hit.record.url: hit.score for hit in one.hits}
    for hit in many.hits:
        assert hit.score == pytest.approx(scores[hit.record.url], rel=0.02)


def test_near_duplicates_are_one_result_and_hosts_have_two(tmp_path: Path) -> None:
    text = filler(1, 100)
    pages = [page(number, content=f"{text} heron copy{number}") for number in range(5)]
    pages += [
        page(number, url=f"http://big.example/{number}", content=f"{filler(10 + number)} heron")
        for number in range(8)
    ]
    pages.append(page(99, content=f"{filler(99)} heron"))
    index_pages(tmp_path, pages)
    index = opened(tmp_path)
    answer = index.search("heron", NOW_MS)
    assert answer.total == 14
    assert len(answer.hits) == 4
    assert sum(hit.record.host == "big.example" for hit in answer.hits) == 2
    assert sorted(hit.duplicates for hit in answer.hits) == [0, 0, 0, 4]
    everything = SearchOptions(limit=20, per_host=0, collapse=False)
    assert len(index.search("heron", NOW_MS, everything).hits) == 14
    assert len(index.search("heron host:big.example", NOW_MS).hits) == 8


def test_pages_of_results_do_not_overlap(tmp_path: Path) -> None:
    index_pages(tmp_path, (page(n, content=f"{filler(n)} heron") for n in range(60)), shards=3)
    index = opened(tmp_path)
    whole = urls(index.search("heron", NOW_MS, SearchOptions(limit=60)))
    assert len(set(whole)) == 60
    parts = [
        url
        for offset in range(0, 60, 7)
        for url in urls(index.search("heron", NOW_MS, SearchOptions(limit=7, offset=offset)))
    ]
    assert parts == whole


@pytest.mark.slow
def test_unique_words_bring_their_page_first(tmp_path: Path) -> None:
    """Mean reciprocal rank over 1,000 pages of eight languages, the unspaced ones among them."""
    chance = random.Random(7)
    alphabets = {
        "en": "abcdefghijklmnopqrstuvwxyz",
        "de": "abcdefghijklmnoprstuäöüß",
        "fr": "abcdefghilmnopqrstuvéèàç",
        "ru": "абвгдежзийклмнопрстуфхцчшщыэюя",
        "ja": "".join(map(chr, range(0x4E00, 0x4E00 + 600))) + "あいうえおかきくけこアイウエオ",
        "zh": "".join(map(chr, range(0x5000, 0x5000 + 1500))),
        "ko": "".join(map(chr, range(0xAC00, 0xAC00 + 1500))),
        "xx": "abcdefghijklmnopqrstuvwxyz",
    }
    pages, asked = [], []
    for number in range(1_000):
        language = list(alphabets)[number % len(alphabets)]
        letters = alphabets[language]
        unspaced = language in ("ja", "zh")
        size = 4 if language in ("ja", "zh", "ko") else 9
        shared = [f"topic{chance.randrange(300)}" for _ in range(80)]
        unique = ["".join(chance.choices(letters, k=size)) for _ in range(3)]
        words = [*shared, *unique]
        chance.shuffle(words)
        pages.append(
            {
                "url": f"http://s{number % 50}.example/{number}",
                "title": f"Page {number}",
                "content": ("、" if unspaced else " ").join(words),
                "lang": language,
                "boost": chance.random() * 10,
            }
        )
        asked.append((" ".join(unique[:2]), f"http://s{number % 50}.example/{number}"))
    index_pages(tmp_path, pages, shards=4)
    index = opened(tmp_path)
    ranks = []
    for query, url in asked:
        found = urls(index.search(query, NOW_MS))
        ranks.append(1 / (found.index(url) + 1) if url in found else 0.0)
    assert sum(ranks) / len(ranks) >= 0.99


HOSTILE = [
    "*" * 1000,
    '"' * 999,
    "-" * 500,
    "a:" * 400,
    "-x -y",
    '"',
    "title:",
    "((((((((((a OR b) AND c",
    "\\" * 100,
    "\x00\x1b[2J\u202e",
    "\ud800",
    "x" * 1000,
    "ab " * 30,
    "東" * 1000,
    "e\u0301" * 400,
    "\ufdfa" * 500,
    "[* TO *]",
    "since:999999d x",
    "field..x:1",
    "field.:1",
    "field.\x00:1",
    "~" * 900,
]


@pytest.mark.parametrize("query", HOSTILE)
def test_hostile_queries_are_answered_or_refused(index: EmbeddedIndex, query: str) -> None:
    try:
        answer = index.search(query, NOW_MS, SearchOptions(facets=2, explain=True))
    except UsageError as error:
        assert "\n" not in str(error)
    else:
        json.dumps(answer.values())


@settings(max_examples=scaled(300), deadline=None)
@given(query=st.text(max_size=60) | st.text(alphabet='ab"-: 東京ุ\u0301title', max_size=60))
def test_any_text_is_a_query(index: EmbeddedIndex, query: str) -> None:
    with suppress(UsageError):
        json.dumps(index.search(query, NOW_MS).values())


@pytest.mark.parametrize(
    ("query", "line"),
    [
        ("", "the query is empty"),
        ("  ", "the query is empty"),
        ("title: fruit", "title: has nothing behind it"),
        ("fruit SITE:", "site: has nothing behind it"),
        ('-title:""', "title: has nothing behind it"),
        ("field.author:", "field.author: has nothing behind it"),
        ("x" * 1001, "1,001 characters"),
        ("titel:x", "did you mean 'title'"),
        ("since:tomorrow x", "is no date"),
        ("a " * 33, "more than 32"),
        (f'"{"marathon " * 65}"', "more than 64 words, those in quotes included"),
        ("a-b-c " * 32, "more than 64 words"),
    ],
)
def test_wrong_queries_are_one_line(index: EmbeddedIndex, query: str, line: str) -> None:
    with pytest.raises(UsageError, match=line):
        index.search(query, NOW_MS)


def test_wrong_limits_are_one_line(index: EmbeddedIndex) -> None:
    for options in (
        SearchOptions(limit=0),
        SearchOptions(offset=-1),
        SearchOptions(offset=1000),
        SearchOptions(facets=-1),
        SearchOptions(facets=1 << 40),
    ):
        with pytest.raises(UsageError):
            index.search("x", NOW_MS, options)


def test_a_folder_that_is_none_or_damaged_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="is no folder of an embedded index"):
        EmbeddedIndex([str(tmp_path)])
    index_pages(tmp_path, PAGES, shards=1)
    folder = tmp_path / "index/tantivy/shard-0"
    for file in folder.glob("*.idx"):
        file.write_bytes(b"")
    with pytest.raises(StorageError) as raised:
        EmbeddedIndex([str(folder)])
    assert "\n" not in str(raised.value)


def test_a_query_that_only_leaves_out_finds_all_others(index: EmbeddedIndex) -> None:
    others = {str(page["url"]) for page in PAGES} - {"http://fruit.example/a"}
    found = index.search("-apples", NOW_MS, SearchOptions(limit=20))
    assert (set(urls(found)), found.total) == (others, len(others))
    assert not index.search("-:", NOW_MS).total


def test_an_empty_index_finds_nothing(tmp_path: Path) -> None:
    index_pages(tmp_path, [])
    assert opened(tmp_path).pages == 0
    for query in ("x", "host:a", "東", "xylophone marathon"):
        assert not opened(tmp_path).search(query, NOW_MS, SearchOptions(facets=1)).hits
