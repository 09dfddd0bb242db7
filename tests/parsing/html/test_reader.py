from __future__ import annotations

from crawl.config import Config
from crawl.html.tokens import feed
from crawl.interfaces.page import Page
from crawl.model.content import Content
from crawl.model.parse import Outlink, ParseStatus
from crawl.parsing.html.reader import HtmlReader, HtmlSettings
from crawl.parsing.html.tree import read_html

URL = "http://example.com/a/b"
MARKUP = (
    "<html lang=de><head><title>T</title><base href=/c/><script src=s>x</script></head><body>"
    "<p>one <a href=x rel=nofollow>two <img src=i alt=z></a><div hidden>three</div>four</body>"
)


def test_settings_of_the_configuration() -> None:
    given = {
        "parser.html.form.use_action": True,
        "parser.html.outlinks.ignore_tags": ["IMG", "a"],
        "parser.html.outlinks.max": 7,
    }
    expected = HtmlSettings("mybot", True, frozenset(("img", "a")), 7)
    assert HtmlSettings.from_config(Config.of(given), "mybot") == expected
    assert HtmlSettings.from_config(Config.of(), "") == HtmlSettings()


def test_a_page_is_the_same_by_its_tree_and_by_its_tokens() -> None:
    by_tree, by_tokens = HtmlReader(URL, HtmlSettings()), HtmlReader(URL, HtmlSettings())
    read_html(Page(Content(URL, MARKUP.encode()), "text/html"), by_tree)
    feed(MARKUP, by_tokens)
    parse = by_tree.parse()
    assert parse == by_tokens.parse()
    assert parse.status is ParseStatus.SUCCESS
    assert (parse.title, parse.text, parse.language) == ("T", "one two\nfour", "de")
    assert parse.outlinks == (
        Outlink("http://example.com/c/s", "", "", "script"),
        Outlink("http://example.com/c/x", "two", "nofollow", "a"),
        Outlink("http://example.com/c/i", "", "", "img"),
    )
