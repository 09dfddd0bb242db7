"""The main text of a page counts most and is what results show; the rest finds the page too."""

from __future__ import annotations

from pathlib import Path

import pytest

from crawl.config import Config
from crawl.interfaces.indexingfilter import IndexablePage
from crawl.interfaces.registry import available
from crawl.model.datum import CrawlDatum
from crawl.model.documents import IndexDocument
from crawl.model.parse import Parse
from crawl.model.status import Status
from crawl.phases.index.tasks.documents import packed_document, unpacked_document
from tests.search.made import index_pages, opened

NOW_MS = 1_800_000_000_000
MENU = "Home Heron Products Kestrel Support"


def document(number: int, main: str | None, text: str, **settings: object) -> IndexDocument:
    """As the index job makes it, and sends it."""
    url = f"http://h{number}.example/"
    parse = Parse(url, title=f"Page {number}", text=text, main_text=main, language="en")
    page = IndexablePage(url, f"h{number}.example", parse, CrawlDatum(Status.DB_FETCHED, 0), 1)
    config = Config.of({key.replace("__", "."): value for key, value in settings.items()})
    made = available("indexingfilter")["basic"].build(config).filter(IndexDocument(url, 1), page)
    assert made is not None
    return unpacked_document(url, 1, packed_document(made))


def test_menus_find_a_page_but_count_less_and_are_not_shown(tmp_path: Path) -> None:
    about = "Of birds this page says something: a heron is one, and it has long legs."
    other = "Of cars this page says something: they have wheels, and take much room."
    made = [
        document(1, about, f"{MENU} {about} Imprint"),
        document(2, other, f"{MENU} {other} Imprint"),
    ]
    assert [each.rest for each in made] == [f"{MENU} Imprint"] * 2
    assert [each.fields["content"] for each in made] == [about, other]
    index_pages(tmp_path, [{**each.fields, "rest": each.rest} for each in made])
    index = opened(tmp_path)
    hits = index.search("heron", NOW_MS).hits
    assert [hit.record.url for hit in hits] == ["http://h1.example/", "http://h2.example/"]
    assert hits[0].score > 2 * hits[1].score
    for hit in hits:
        assert "Home" not in hit.snippet.text
    assert len(index.search("kestrel imprint", NOW_MS).hits) == 2
    assert len(index.search("text:kestrel", NOW_MS).hits) == 2
    assert not index.search("content:kestrel", NOW_MS).hits


@pytest.mark.parametrize(
    ("main", "settings"), [(None, {}), ("Main", {"indexer__main__text": False})]
)
def test_the_whole_text_where_there_is_no_main_text_or_all_is_asked_for(
    main: str | None, settings: dict[str, object]
) -> None:
    made = document(1, main, f"{MENU} Main", **settings)
    assert (made.fields["content"], made.rest) == (f"{MENU} Main", "")
