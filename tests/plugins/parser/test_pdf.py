from __future__ import annotations

import random

import pytest

from crawl.config import Config
from crawl.model.parse import ParseStatus
from crawl.plugins.parser.pdf import PdfParser
from crawl.testing.parser_contract import ParserContract
from tests.plugins.parser.pages import only, page, refusal, targets
from tests.plugins.parser.small_pdf import encrypted_pdf, small_pdf

PARSER = PdfParser(Config.of())
PDF = "application/pdf"


class TestContract(ParserContract):
    plugin_class = PdfParser

    def samples(self) -> list[bytes]:
        return [small_pdf(3), encrypted_pdf("secret"), encrypted_pdf(""), small_pdf()[:-300]]


def test_text_facts_and_links() -> None:
    parse = only(PARSER, page(small_pdf(2), PDF))
    assert parse.title == "A Title"
    assert parse.text == "Page 1 says hello\n\nPage 2 says hello"
    assert targets(parse) == ["http://a.com/x"]
    assert parse.metadata == {
        "author": "Ann",
        "keywords": "k, l",
        "created": "D:20240102030405Z",
        "pdf.pages": "2",
    }


def test_links_are_resolved_and_only_urls_are_links() -> None:
    relative = only(PARSER, page(small_pdf(link="../x"), PDF))
    assert targets(relative) == ["http://www.example.com/x"]
    assert targets(only(PARSER, page(small_pdf(link="http://["), PDF))) == []


def test_what_comes_before_the_beginning_is_forgiven() -> None:
    assert only(PARSER, page(b"\n\n" + small_pdf(), PDF)).title == "A Title"


def test_pages_and_text_are_bounded() -> None:
    few = PdfParser(Config.of({"parser.pdf.max.pages": 2}))
    parse = only(few, page(small_pdf(5), PDF))
    assert "Page 2" in parse.text and "Page 3" not in parse.text
    assert parse.metadata["pdf.pages"] == "5"
    short = PdfParser(Config.of({"parser.pdf.max.text": 20}))
    assert only(short, page(small_pdf(5), PDF)).text == "Page 1 says hello\n\nPag"


def test_encrypted_ones_are_reported_unless_everybody_may_read_them() -> None:
    assert refusal(PARSER, page(encrypted_pdf("secret"), PDF)) == "encrypted: it needs a password"
    assert "says hello" in only(PARSER, page(encrypted_pdf(""), PDF)).text


@pytest.mark.parametrize(
    "body", [b"", b"text", b"<html>", b"%PDF-", b"%PDF-1.4\n" + b"x" * 5000, small_pdf()[:-400]]
)
def test_what_is_none_is_reported(body: bytes) -> None:
    assert refusal(PARSER, page(body, PDF)).startswith("no PDF")


def test_damaged_ones_are_read_or_refused() -> None:
    chance = random.Random(4)
    whole = small_pdf(2)
    for _ in range(150):
        body = bytearray(whole)
        for _ in range(chance.randint(1, 8)):
            at = chance.randrange(len(body))
            body[at : at + chance.randint(0, 3)] = chance.randbytes(chance.randint(0, 3))
        parses = PARSER.parse(page(bytes(body), PDF))
        assert len(parses) == 1
        assert parses[0].status in (ParseStatus.SUCCESS, ParseStatus.INVALID_FORMAT)
        parses[0].text.encode("utf-8")
