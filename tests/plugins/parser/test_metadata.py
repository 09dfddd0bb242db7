from __future__ import annotations

import pytest

from crawl.config import Config
from crawl.plugins.parser.metadata import MetadataParser
from crawl.testing.parser_contract import ParserContract
from tests.plugins.parser.pages import only, page

PARSER = MetadataParser(Config.of())


class TestContract(ParserContract):
    plugin_class = MetadataParser


def test_type_length_and_name() -> None:
    headers = {"last-modified": "Mon, 06 Sep 2010 00:01:00 GMT"}
    given = page(b"\x89PNG...", "image/png", "http://a.com/x/b%20c.png?q=1", headers=headers)
    parse = only(PARSER, given)
    assert (parse.text, parse.title, parse.outlinks) == ("", "", ())
    assert parse.metadata == {
        "content.type": "image/png",
        "content.length": "7",
        "content.name": "b c.png",
        "last.modified": "Mon, 06 Sep 2010 00:01:00 GMT",
    }


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ('attachment; filename="a b.pdf"', "a b.pdf"),
        ("attachment; filename=plain.pdf; size=3", "plain.pdf"),
        ('inline; filename="a\\"b.pdf"', 'a"b.pdf'),
        ("attachment; filename=x.pdf; filename*=UTF-8''%C3%A4.pdf", "ä.pdf"),
        ('attachment; filename="../../etc/passwd"', "passwd"),
        ('attachment; filename="C:\\\\x\\\\y.doc"', "y.doc"),
        ('attachment; filename="' + "\\a" * 5000, "page"),
        ("attachment", "page"),
    ],
)
def test_the_name_that_the_server_gives(header: str, name: str) -> None:
    given = page(b"", "application/octet-stream", headers={"content-disposition": header})
    assert only(PARSER, given).metadata["content.name"] == name
