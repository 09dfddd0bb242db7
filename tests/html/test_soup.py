from __future__ import annotations

import warnings

from hypothesis import given, settings
from hypothesis import strategies as st

from crawl.html.soup import soup_of
from crawl.interfaces.page import Page
from crawl.model.content import Content
from tests.examples import scaled


def test_the_tree_is_the_one_of_browsers() -> None:
    for markup, tree in {
        "<p>a<p>b": "<p>a</p><p>b</p>",
        "<table><b>x<tr><td>y": "<b>x</b><table><tbody><tr><td>y</td></tr></tbody></table>",
        "<b>a<p>b</b>c": "<b>a</b><p><b>b</b>c</p>",
        "a<!--c--><br>d": "a<!--c--><br/>d",
        "<script>a<b</script>": "<script>a<b</script>",
    }.items():
        assert str(soup_of(f"<body>{markup}").body) == f"<body>{tree}</body>", markup


def test_attributes_are_those_of_beautifulsoup() -> None:
    soup = soup_of("<a class='x y' rel=nofollow href=/z hidden>text</a>")
    assert soup.a is not None
    assert soup.a["class"] == ["x", "y"] and soup.a["href"] == "/z" and soup.a["hidden"] == ""
    assert [found.name for found in soup.select("body > a.y")] == ["a"]


def test_it_is_linked_in_document_order() -> None:
    soup = soup_of("<title>t</title><p>a<b>c</b>d</p><p>e")
    assert [str(text) for text in soup.find_all(string=True)] == ["t", "a", "c", "d", "e"]
    assert soup.get_text("|") == "t|a|c|d|e"


def test_what_is_no_markup_is_no_file_name_either() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert soup_of("page.html").get_text() == "page.html"
        assert soup_of("http://example.com/").get_text() == "http://example.com/"
        assert soup_of("<?xml version='1.0'?><html/>").get_text() == ""


def test_a_page_made_to_harm_has_a_tree_that_is_not_deep() -> None:
    soup = soup_of("<div>" * 30_000 + "text")
    assert soup.get_text() == "text"
    assert max(len(list(div.parents)) for div in soup.find_all("div")) <= 257
    assert len(soup.find_all("div")) == 30_000


def test_a_page_makes_its_tree_once() -> None:
    page = Page(Content("http://example.com/", "<p>Größe".encode()), "text/html")
    assert page.soup is page.soup
    assert page.soup.get_text() == "Größe"


@settings(max_examples=scaled(200), deadline=None)
@given(st.text(max_size=100))
def test_any_text_has_a_tree(markup: str) -> None:
    soup_of(markup).get_text()
