"""What every parse filter must keep to; subclass it in your own tests:

class TestMine(ParseFilterContract):
    plugin_class = MyParseFilter
"""

from __future__ import annotations

import copy
import random

from crawl.interfaces.page import Page
from crawl.interfaces.parsefilter import ParseFilter
from crawl.model.content import Content
from crawl.model.parse import Outlink, Parse
from crawl.testing.plugin_contract import PluginContract

URL = "http://www.example.com/a"

_PIECES: tuple[str, ...] = (
    *("<html lang=de>", "<head>", "<title>", "</title>", "<meta name=description content='x'>"),
    *("<meta", "<meta content>", "<h1>", "</h1>", "<h2><b>", "</p>", "<p>", "<script>", "<!--"),
    *("-->", "text ", "Grüße ", "日本語", "\0", "\ufffd", "&amp;", "&#0;"),
    *("&", "<", ">", '"', "\n"),
)


def a_page(markup: str, mime_type: str = "text/html") -> Page:
    """A page that was fetched, with that markup."""
    body = markup.encode("utf-8", "surrogatepass")
    headers = {"content-type": mime_type, "content-language": "en-GB"}
    return Page(Content(URL, body, mime_type, headers=headers), mime_type)


class ParseFilterContract(PluginContract[ParseFilter]):
    """Tests for pytest; override `config` and `samples` to reach your plugin's own cases."""

    interface = "parsefilter"

    def samples(self) -> list[tuple[Page, Parse]]:
        """Pages that matter to the plugin, beside the odd ones."""
        return []

    def pages(self) -> list[tuple[Page, Parse]]:
        return [*self.samples(), *odd_pages()]

    def test_a_page_stays_the_page_it_is(self) -> None:
        plugin = self.make()
        for page, parse in self.pages():
            result = plugin.filter(page, parse)
            assert isinstance(result, Parse)
            assert result.url == parse.url
            assert result.status is parse.status

    def test_what_it_adds_can_be_stored(self) -> None:
        plugin = self.make()
        for page, parse in self.pages():
            result = plugin.filter(page, parse)
            texts = [result.title, result.text, result.language, result.message]
            for key, value in result.metadata.items():
                assert isinstance(key, str) and isinstance(value, str), (key, value)
                texts += (key, value)
            for text in texts:
                assert text.encode("utf-8") is not None, text[:100]

    def test_same_page_same_answer(self) -> None:
        one, other = self.make(), self.make()
        for page, parse in self.pages():
            expected = one.filter(page, parse)
            assert one.filter(page, parse) == expected == other.filter(page, parse)

    def test_the_parse_that_it_is_given_stays_as_it_was(self) -> None:
        plugin = self.make()
        for page, parse in self.pages():
            before = copy.deepcopy(parse)
            plugin.filter(page, parse)
            assert parse == before

    def test_an_executor_builds_the_same_plugin_from_its_name(self) -> None:
        here, there = self.make(), self.make_on_executor()
        for page, parse in self.pages():
            assert there.filter(page, parse) == here.filter(page, parse)


def odd_pages(jumbled: int = 100) -> list[tuple[Page, Parse]]:
    """Pages that break plugins, with a parse of each; the same every time."""
    chance = random.Random(2048)
    metadata = {"author": "Ann", "description": "odd"}
    link = (Outlink("http://b.com/", "B", "nofollow", "a"),)
    ordinary = (
        "<!doctype html><html lang='de-AT'><head><title>Ein Titel</title>"
        "<meta name='Description' content='Eine kurze Beschreibung'></head>"
        "<body><h1>Die Überschrift</h1><p>Das ist ein ganz gewöhnlicher deutscher Satz."
    )
    markups = [
        *("", " ", "text", ordinary, "<", "\0" * 100, "\ud800", "<h1>" * 3000, "<div>" * 5000),
        *("<meta name=a content=b>" * 3000, "<h1>x" * 3000, "<meta " + "a=b " * 3000, "&" * 9999),
        *("x" * 200_000, "<h1>" + "y" * 200_000, "日本語のページです。" * 2000),
        *("".join(chance.choices(_PIECES, k=chance.randint(1, 12))) for _ in range(jumbled)),
    ]
    pages = []
    for number, markup in enumerate(markups):
        text = markup.replace("\ud800", "\ufffd")
        parse = Parse(URL, title=text[:20], text=text, outlinks=link, metadata=metadata)
        pages.append((a_page(markup, ("text/html", "text/plain")[number % 7 == 6]), parse))
    inner = Parse("http://www.example.com/inner", title="Inner", text="a text inside a page")
    return [*pages, (a_page(ordinary), inner), (a_page(ordinary), Parse(URL))]
