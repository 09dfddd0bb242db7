"""The main content by a tree that the caller has is that of the markup."""

from __future__ import annotations

import pytest
from selectolax.lexbor import LexborHTMLParser

from crawl.maincontent.extract import extract

PARAGRAPH = "<p>The story itself is told here at some length, in whole sentences of words.</p>"


@pytest.mark.parametrize(
    "inside", ["", "<p>a\x01b \x02c\x03</p>", "<p>a&#1;b &#x2;c</p>", "<nav><a href=x>x</a></nav>"]
)
def test_it_is_the_same(inside: str) -> None:
    """Also of pages with the control characters that mark emphasis in our own texts."""
    markup = f"<html><body><article>{PARAGRAPH * 5}{inside}</article></body></html>".encode()
    tree = LexborHTMLParser(markup)
    for markdown in (True, False):
        found = extract(markup, markdown=markdown, tree=tree)
        assert found == extract(markup, markdown=markdown)
        assert not set("\x01\x02\x03") & set(found.text)
