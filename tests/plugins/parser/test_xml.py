from __future__ import annotations

import pytest

from crawl.config import Config
from crawl.model.parse import Outlink
from crawl.plugins.parser.xml import XmlParser
from crawl.testing.parser_contract import ParserContract
from tests.parsing.formats.test_safe_xml import LAUGHS, QUADRATIC
from tests.plugins.parser.pages import only, page, refusal, targets

PARSER = XmlParser(Config.of())


class TestContract(ParserContract):
    plugin_class = XmlParser

    def samples(self) -> list[bytes]:
        return [LAUGHS.encode(), b"<a href='x'>y</a>", QUADRATIC.encode()]


def test_text_title_and_links() -> None:
    parse = only(
        PARSER,
        page(
            """<?xml version="1.0"?>
            <doc xmlns:xlink="http://www.w3.org/1999/xlink" xml:lang="de">
              <title>The  <b>Title</b></title><title>Another</title>
              <p>One <b>two</b></p><style>p { }</style>
              <a href="../x?a=1&amp;b=2" rel="NoFollow  next" title="T">there</a>
              <img src="http://b.com/i.png"/><use xlink:href="#local"/><use xlink:href="y"/>
              <bad href="http://[::1"/>
            </doc>""",
            "application/xml",
        ),
    )
    assert parse.title == "The Title"
    assert parse.text.split("\n")[:2] == ["The Title", "Another"]
    assert "{ }" not in parse.text
    assert parse.language == "de"
    assert parse.metadata == {"xml.root": "doc"}
    assert parse.outlinks == (
        Outlink("http://www.example.com/x?a=1&b=2", "T", "nofollow next", "a"),
        Outlink("http://b.com/i.png", tag="img"),
        Outlink("http://www.example.com/a/y", tag="use"),
    )


def test_links_count_from_the_base_that_the_root_names() -> None:
    parse = only(PARSER, page("<a xml:base='http://b.com/c/'><l href='d'/></a>", "text/xml"))
    assert targets(parse) == ["http://b.com/c/d"]


@pytest.mark.parametrize("bomb", [LAUGHS, QUADRATIC])
def test_bombs_do_not_explode(bomb: str) -> None:
    assert len(only(PARSER, page(bomb, "text/xml")).text) < 100_000


@pytest.mark.parametrize("body", ["", "text", "{}", "<a>" * 9999, "\0\0\0"])
def test_what_is_none_is_reported(body: str) -> None:
    assert refusal(PARSER, page(body, "text/xml"))
