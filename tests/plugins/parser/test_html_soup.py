from __future__ import annotations

from dataclasses import replace

import pytest
from bs4 import BeautifulSoup
from bs4.element import Tag
from hypothesis import example, given, settings
from hypothesis import strategies as st

from crawl.config import Config
from crawl.interfaces.page import Page
from crawl.model.content import Content
from crawl.model.parse import Parse
from crawl.plugins.parser.html import HtmlParser
from crawl.plugins.parser.html_soup import SoupHtmlParser
from crawl.testing.html_contract import HtmlContract
from crawl.testing.wicked_bodies import wicked_bodies
from tests.examples import scaled

CONFIG = Config.of({"http.agent.name": "mybot", "parser.html.form.use_action": True})


@pytest.mark.slow
class TestContract(HtmlContract):
    plugin_class = SoupHtmlParser


def both(body: bytes) -> tuple[Parse, Parse]:
    page = Page(Content("http://example.com/a/b", body), "text/html")
    (quick,) = HtmlParser(CONFIG).parse(page)
    (readable,) = SoupHtmlParser(CONFIG).parse(page)
    return quick, readable


def test_both_parsers_find_the_same_in_wicked_pages() -> None:
    for body in wicked_bodies(jumbled=1000):
        quick, readable = both(body)
        assert quick == readable, body[:200]


TAGS = st.sampled_from(
    (
        *("div", "p", "a href=/x", "a href='y?z'", "b", "i", "span", "ul", "li", "table", "tr"),
        *("td", "h1", "div hidden", "a hidden href=h", "title", "script", "style", "noscript"),
        *("svg", "select", "option", "button", "form action=/f", "template", "textarea", "pre"),
        *("video src=v", "iframe src=w", "object data=o", "font color=red", "nobr", "x-y"),
    )
)
EMPTY = st.sampled_from(
    (
        *("<br>", "<hr>", "<img src=/i alt=pic>", "<img srcset='a 1x, b 2x'>", "<base href=/b/>"),
        *("<meta name=robots content=noindex>", "<link rel=canonical href=c>", "<!-- c -->"),
        *("<input hidden>", "<path d=1 />", "<meta http-equiv=refresh content='1;url=/r'>"),
    )
)
WORDS = st.sampled_from(("word", " two words ", "\n", "&amp;", "&eacute;", "ü", "\0", "<", "\x1e"))
ELEMENTS = st.recursive(
    WORDS | EMPTY,
    lambda inner: st.builds(
        lambda tag, parts, is_closed: (
            f"<{tag}>{''.join(parts)}" + (f"</{tag.split()[0]}>" if is_closed else "")
        ),
        TAGS,
        st.lists(inner, max_size=4),
        st.booleans(),
    ),
    max_leaves=30,
)


@settings(max_examples=scaled(300), deadline=None)
@given(st.lists(ELEMENTS, max_size=4))
def test_both_parsers_find_the_same_in_whatever_looks_like_html(parts: list[str]) -> None:
    quick, readable = both("".join(parts).encode())
    assert quick == readable


@settings(max_examples=scaled(300), deadline=None)
@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
@example(b"\xc2\0\x80")
@example(b"\xe2</b>\x82")
def test_both_parsers_find_the_same_in_any_bytes(body: bytes) -> None:
    quick, readable = both(body)
    assert quick == readable


class WithoutMenus(SoupHtmlParser):
    def is_read(self, element: Tag) -> bool:
        return element.get("id") != "advertisement"

    def is_seen(self, element: Tag) -> bool:
        return element.name != "nav"

    def finish(self, page: Page, soup: BeautifulSoup, parse: Parse) -> Parse:
        price = soup.select_one(".price")
        assert price is not None
        return replace(parse, metadata={**parse.metadata, "price": price.get_text()})


def test_a_parser_of_ones_own() -> None:
    body = (
        b"<nav><a href=/menu>menu</a></nav><div id=advertisement>buy<a href=/buy>!</a></div>"
        b"<p>It costs <b class=price>5</b> coins.</p><nav>end</nav><p id=advertisement>last"
    )
    page = Page(Content("http://example.com/", body), "text/html")
    (parse,) = WithoutMenus(Config.of()).parse(page)
    assert parse.text == "It costs 5 coins."
    assert [(link.url, link.anchor) for link in parse.outlinks] == [
        ("http://example.com/menu", "menu")
    ]
    assert parse.metadata == {"price": "5"}
