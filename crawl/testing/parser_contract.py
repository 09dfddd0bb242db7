"""What every parser must keep to; subclass it in your own tests:

class TestMine(ParserContract):
    plugin_class = MyParser
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from crawl.interfaces.page import Page
from crawl.interfaces.parser import Parser
from crawl.model.content import Content
from crawl.model.parse import Parse
from crawl.testing.inputs.wicked_bodies import wicked_bodies
from crawl.testing.plugin_contract import PluginContract
from crawl.urls.parse import scheme_of

URL = "http://www.example.com/a/page.html?q=1"
CHARSETS = ("utf-8", "windows-1252", "utf-16-le", "utf-7", "cp932")


class ParserContract(PluginContract[Parser]):
    """Tests for pytest; override `config` and `samples` to reach your plugin's own cases."""

    interface = "parser"

    def samples(self) -> list[bytes]:
        """Bodies that matter to the plugin, beside the wicked ones."""
        return []

    def page(self, body: bytes, charset: str = "utf-8") -> Page:
        """A page of the plugin's first type, as the pipeline hands it on."""
        kind = self.plugin_class.mime_types[0].replace("*", "x")
        headers = {"content-type": f"{kind}; charset={charset}"}
        return Page(Content(URL, body, kind, 200, headers=headers), kind, charset)

    def pages(self) -> Iterable[Page]:
        for body in [*self.samples(), *wicked_bodies()]:
            yield self.page(body)
            if len(body) < 2000:
                yield from (self.page(body, charset) for charset in CHARSETS[1:])

    def test_its_types_are_types(self) -> None:
        assert self.plugin_class.mime_types
        for kind in self.plugin_class.mime_types:
            assert kind == kind.strip().lower() and kind.count("/") == 1 and ";" not in kind

    def test_any_bytes_are_a_parse_or_no_page_for_it(self) -> None:
        plugin = self.make()
        for page in self.pages():
            parses = plugin.parse(page)
            assert parses is None or len(parses) > 0, page.body[:80]
            for parse in parses or ():
                assert isinstance(parse, Parse), page.body[:80]
                assert parse.status.is_success or parse.message.strip(), page.body[:80]
                assert "\n" not in parse.message, page.body[:80]

    def test_the_page_itself_comes_first_and_each_document_has_a_url_of_its_own(self) -> None:
        plugin = self.make()
        for page in self.pages():
            urls = [parse.url for parse in plugin.parse(page) or ()]
            assert not urls or urls[0] == URL, page.body[:80]
            assert len(set(urls)) == len(urls), page.body[:80]

    def test_links_are_absolute(self) -> None:
        plugin = self.make()
        for page in self.pages():
            for parse in plugin.parse(page) or ():
                others = [parse.canonical] if parse.canonical else []
                others += [parse.refresh.url] if parse.refresh else []
                for url in [*(link.url for link in parse.outlinks), *others]:
                    assert scheme_of(url) is not None, (page.body[:80], url)

    def test_what_it_finds_can_be_stored(self) -> None:
        plugin = self.make()
        for page in self.pages():
            for parse in plugin.parse(page) or ():
                for text in _texts(parse):
                    text.encode("utf-8")  # a lone surrogate would raise

    def test_same_page_same_parse(self) -> None:
        one, other = self.make(), self.make()
        for page in self.pages():
            body = page.body
            expected = _listed(one.parse(page))
            again = self.page(body, page.charset)
            assert _listed(other.parse(again)) == expected == _listed(one.parse(again)), body[:80]
            assert page.body is body

    def test_an_executor_builds_the_same_plugin_from_its_name(self) -> None:
        here, there = self.make(), self.make_on_executor()
        for page in self.pages():
            if len(page.body) < 2000:
                assert _listed(there.parse(page)) == _listed(here.parse(page)), page.body[:80]


def _listed(parses: Sequence[Parse] | None) -> list[Parse] | None:
    return None if parses is None else list(parses)


def _texts(parse: Parse) -> Iterable[str]:
    yield from (parse.url, parse.title, parse.text, parse.main_text or "", parse.message)
    yield from (parse.language, parse.canonical, *parse.directives)
    for link in parse.outlinks:
        yield from (link.url, link.anchor, link.rel, link.tag)
    for name, value in parse.metadata.items():
        yield from (name, value)
