"""What every indexing filter must keep to; subclass it in your own tests:

class TestMine(IndexingFilterContract):
    plugin_class = MyIndexingFilter
"""

from __future__ import annotations

import copy
import json
from dataclasses import replace

from crawl.interfaces.indexingfilter import IndexablePage, IndexingFilter
from crawl.model.datum import CrawlDatum
from crawl.model.documents import IndexDocument, Inlink
from crawl.model.parse import Outlink, Parse
from crawl.model.status import Status
from crawl.testing.plugin_contract import PluginContract

URL = "http://www.example.com/a"
_HEADERS = {
    "content-length": "12",
    "last-modified": "Sun, 06 Nov 1994 08:49:37 GMT",
    "content-disposition": 'attachment; filename="r%C3%A9sum%C3%A9.pdf"',
}
_ODD_HEADERS = {
    "content-length": "-1e9",
    "last-modified": "yesterday",
    "content-disposition": "filename*=utf-8''%ff",
}


def odd_pages() -> list[IndexablePage]:
    """Pages that break plugins; the same every time."""
    datum = CrawlDatum(Status.DB_FETCHED, 1_800_000_000_000, score=2.0, metadata={"k": "v"})
    links = (Outlink("http://b.com/", "B", "", "a"), Outlink("no url", "", "", ""))
    inlinks = (Inlink("http://b.com/", "Beta"), Inlink("http://b.com/x", "beta "), Inlink("", ""))
    metadata = {"og:title": "T", "metatag.keywords": "a, b", "feed": URL, "author": "Ann\nBob"}
    full = Parse(
        URL,
        title="Ein Titel | Example",
        text="Ein Text. " * 50,
        main_text="Ein Text.",
        outlinks=links,
        canonical="http://www.example.com/b",
        language="de",
        metadata=metadata,
    )
    pages = [
        IndexablePage(URL, "www.example.com", full, datum, 1_800_000_000_000),
        IndexablePage(URL, "www.example.com", Parse(URL), datum, 0),
        IndexablePage("file:/etc/x", "", Parse("file:/etc/x", title="\0\ufffd日本"), datum, -1),
        IndexablePage(URL, "10.0.0.1", Parse(URL, canonical="http://"), datum, 2**62),
    ]
    full_page = replace(pages[0], fetch_time=1, segment="20261115093000", mime_type="text/html")
    return [
        *pages,
        replace(full_page, charset="utf-8", signature=b"\1\2", inlinks=inlinks, headers=_HEADERS),
        IndexablePage(URL, "a.b.co.uk", full, datum, 1, mime_type="/", headers=_ODD_HEADERS),
    ]


class IndexingFilterContract(PluginContract[IndexingFilter]):
    """Tests for pytest; override `config` and `samples` to reach your plugin's own cases."""

    interface = "indexingfilter"

    def samples(self) -> list[IndexablePage]:
        """Pages that matter to the plugin, beside the odd ones."""
        return []

    def pages(self) -> list[IndexablePage]:
        return [*self.samples(), *odd_pages()]

    def test_a_document_stays_that_of_its_page(self) -> None:
        plugin = self.make()
        for page in self.pages():
            result = plugin.filter(_document(page), page)
            assert result is None or (result.url == page.url and result.version == page.fetch_time)

    def test_fields_can_be_sent_to_any_index(self) -> None:
        plugin = self.make()
        for page in self.pages():
            result = plugin.filter(_document(page), page)
            for name, value in result.fields.items() if result else ():
                assert name and isinstance(name, str)
                values = value if isinstance(value, list) else [value]
                assert values and all(isinstance(each, str | int | float) for each in values), name
                json.dumps(value).encode()
                str(value).encode()

    def test_same_page_same_document(self) -> None:
        one, other = self.make(), self.make_on_executor()
        for page in self.pages():
            assert one.filter(_document(page), page) == other.filter(_document(page), page)

    def test_the_page_stays_as_it_was(self) -> None:
        plugin = self.make()
        for page in self.pages():
            before = copy.deepcopy(page)
            plugin.filter(_document(page), page)
            assert page == before


def _document(page: IndexablePage) -> IndexDocument:
    return IndexDocument(page.url, page.fetch_time, 1.0, {"id": page.url})
