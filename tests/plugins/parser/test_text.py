from __future__ import annotations

from crawl.config import Config
from crawl.plugins.parser.text import TextParser
from crawl.testing.parser_contract import ParserContract
from tests.plugins.parser.pages import only, page, targets

PARSER = TextParser(Config.of())


class TestContract(ParserContract):
    plugin_class = TextParser

    def samples(self) -> list[bytes]:
        return [b"see http://a.com/, \xff\x00", b"", "日本 http://a.jp/。".encode()]


def test_text_stays_and_links_are_found() -> None:
    parse = only(PARSER, page("  One\n\ttwo http://a.com/x.\n", "text/plain"))
    assert parse.text == "One\n\ttwo http://a.com/x."
    assert targets(parse) == ["http://a.com/x"]


def test_text_is_read_in_its_charset() -> None:
    assert only(PARSER, page("Grüße", "text/csv", charset="cp1252")).text == "Grüße"


def test_what_is_no_text_after_all_can_be_stored() -> None:
    parse = only(PARSER, page(b"\xff\x00\x80 a", "text/plain"))
    assert parse.text == "\ufffd\ufffd\ufffd a"


def test_nothing() -> None:
    parse = only(PARSER, page(b"", "text/plain"))
    assert (parse.text, parse.outlinks) == ("", ())
