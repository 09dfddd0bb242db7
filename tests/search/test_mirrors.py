"""Copies of pages are one result, on whichever host they are."""

from __future__ import annotations

import random
from pathlib import Path

from crawl.search.answers import SearchOptions
from crawl.search.near_texts import is_nearly_same, sketch_of
from tests.search.made import index_pages, opened

NOW_MS = 1_800_000_000_000


def text(number: int) -> str:
    chance = random.Random(number)
    words = " ".join(f"word{chance.randrange(5000)}" for _ in range(80 + number))
    return f"{words}. A heron. The end"


def page(host: str, number: int, content: str) -> dict[str, object]:
    return {
        "url": f"http://{host}/{number}",
        "title": f"Page {number}",
        "content": content,
        "digest": f"{host}{number}",  # of the bytes, where links differ
        "lang": "en",
    }


def test_a_mirror_is_no_way_around_the_bound_of_a_host(tmp_path: Path) -> None:
    pages = [page("a.example", number, text(number)) for number in range(12)]
    pages += [page("mirror.example", number, text(number)) for number in range(12)]
    pages += [
        page("near.example", number, f"{text(number)} at near.example") for number in range(12)
    ]
    index_pages(tmp_path, pages, shards=3)
    index = opened(tmp_path)
    answer = index.search("heron", NOW_MS)
    assert answer.total == 36
    assert len(answer.hits) == 2, [hit.record.url for hit in answer.hits]
    assert [hit.duplicates for hit in answer.hits] == [2, 2]
    everything = SearchOptions(limit=50, per_host=0)
    assert len(index.search("heron", NOW_MS, everything).hits) == 12
    everything = SearchOptions(limit=50, per_host=0, collapse=False)
    assert len(index.search("heron", NOW_MS, everything).hits) == 36


def test_pages_without_text_are_not_copies_of_each_other(tmp_path: Path) -> None:
    pages: list[dict[str, object]] = [
        {"url": f"http://h{number}.example/heron", "title": f"Heron {number}"}
        for number in range(3)
    ]
    pages += [{"url": f"http://u{number}.example/heron"} for number in range(3)]
    index_pages(tmp_path, pages)
    assert len(opened(tmp_path).search("heron", NOW_MS).hits) == 6


def test_pages_that_begin_alike_are_not_copies(tmp_path: Path) -> None:
    head = " ".join(f"menu{number}" for number in range(300))
    pages = [page(f"h{n}.example", n, f"{head} heron {text(50 + n)}") for n in range(4)]
    index_pages(tmp_path, pages)
    assert len(opened(tmp_path).search("heron", NOW_MS).hits) == 4


def test_sketches_of_near_texts_are_alike() -> None:
    for number in range(100):
        one, other = text(number), text(number).replace("heron", "osprey")
        assert is_nearly_same(one, other)
        parts = [
            (sketch_of(each) >> 16 * place) & 0xFFFF for each in (one, other) for place in range(4)
        ]
        assert sum(a == b for a, b in zip(parts[:4], parts[4:], strict=True)) >= 2
        assert not is_nearly_same(one, text(number + 500))
