from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.config import Config
from crawl.plugins.parser.js import JsParser
from crawl.testing.parser_contract import ParserContract
from crawl.urls.parse import canonical
from tests.plugins.parser.pages import only, page, targets

PARSER = JsParser(Config.of())
JS = "application/javascript"


def found(source: str) -> list[str]:
    return targets(only(PARSER, page(source, JS, "http://a.com/js/x.js")))


class TestContract(ParserContract):
    plugin_class = JsParser

    def samples(self) -> list[bytes]:
        return [b"go('/a/b', \"\\ud800/x.html\")", b"'"]


@pytest.mark.parametrize(
    ("source", "links"),
    [
        ("location = 'http://b.com/x?y=1';", ["http://b.com/x?y=1"]),
        ('go("https:\\/\\/b.com\\/x")', ["https://b.com/x"]),
        ('go("\\u0068ttp://b.com/\\x41")', ["http://b.com/A"]),
        ("f(`//cdn.com/x.js`)", ["http://cdn.com/x.js"]),
        ("f('/path/to?a=b', './up', '../down/', 'page.html?x=1', 'data/f.json')", [
            "http://a.com/path/to?a=b",
            "http://a.com/js/up",
            "http://a.com/down/",
            "http://a.com/js/page.html?x=1",
            "http://a.com/js/data/f.json",
        ]),
        ("f('/', '//', '/*x*/', 'a/b', 'a.b.c', 'text/html', '.class', '#id', 'm.html.x')", []),
        ("// don't\nf('/next')", ["http://a.com/next"]),
        ('"never closed\n"/next"', ["http://a.com/next"]),
        ("f('<a href=\"/x\">', 'two words.html', '/a b')", []),
        ("", []),
    ],
)  # fmt: skip
def test_links_in_literals(source: str, links: list[str]) -> None:
    assert found(source) == links


def test_a_script_has_no_text() -> None:
    assert only(PARSER, page("alert('hello')", JS)).text == ""


def test_whole_urls_only_where_that_is_wanted() -> None:
    strict = JsParser(Config.of({"parser.js.relative.links": False}))
    assert targets(only(strict, page("f('/a', 'http://b.com/')", JS))) == ["http://b.com/"]


@pytest.mark.parametrize(
    "piece", ['"', '\\"', "'\\", "`", "\\", '"/a/', "'/a", '"a.html?', "/*", "\"\\'", "'/a/b/c"]
)
def test_floods(piece: str) -> None:
    assert len(found(piece * 200_000)) <= 1


@given(
    st.lists(
        st.sampled_from(
            [
                "'",
                '"',
                "`",
                "\\",
                "/",
                "//",
                "http:",
                "a",
                ".html",
                "?",
                "\n",
                "\\u00",
                "\\ud800",
                "{",
                " ",
                "%",
                "..",
            ]
        ),
        max_size=25,
    )
)
def test_each_link_is_a_url(pieces: list[str]) -> None:
    for link in found("".join(pieces)):
        assert canonical(link) == link
