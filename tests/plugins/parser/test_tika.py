from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from crawl.config import Config
from crawl.errors import ConfigError
from crawl.model.parse import Parse, ParseStatus
from crawl.plugins.parser.tika import TikaParser
from crawl.testing.parser_contract import ParserContract
from tests.plugins.parser.pages import only, page, refusal, targets
from tests.plugins.parser.small_tika import SmallTika, small_tika

DOC = "application/msword"


@pytest.fixture
def tika() -> Iterator[SmallTika]:
    with small_tika() as server:
        yield server


def parser(tika: SmallTika, **more: object) -> TikaParser:
    settings = {f"parser.tika.{key.replace('_', '.')}": value for key, value in more.items()}
    return TikaParser(Config.of({"parser.tika.url": tika.url + "/", **settings}))


def failed(parser: TikaParser) -> Parse:
    parses = parser.parse(page(b"body", DOC))
    assert parses is not None and len(parses) == 1
    assert not parses[0].status.is_success
    assert parses[0].message and "\n" not in parses[0].message
    return parses[0]


class TestContract(ParserContract):
    plugin_class = TikaParser


def test_without_a_server_it_is_for_others() -> None:
    assert TikaParser(Config.of()).parse(page(b"x", DOC)) is None


@pytest.mark.parametrize("url", ["localhost:9998", "ftp://a/", "no url"])
def test_a_server_must_be_a_url(url: str) -> None:
    with pytest.raises(ConfigError, match="^parser.tika.url: expected an http URL"):
        TikaParser(Config.of({"parser.tika.url": url}))


def test_title_text_links_and_facts(tika: SmallTika) -> None:
    tika.answer = json.dumps(
        [
            {
                "dc:title": "A  Title",
                "dc:creator": ["Ann", "Bob"],
                "X-TIKA:content": "\n\nHello http://a.com/x \ud800",
                "Content-Type": DOC,
                "xmpTPg:NPages": "3",
                "dc:language": "de-AT",
            },
            {"X-TIKA:content": "inside"},
            "nonsense",
        ]
    ).encode()
    parse = only(parser(tika), page(b"\xd0\xcf body", DOC))
    assert (parse.title, parse.text) == ("A Title", "Hello http://a.com/x \ufffd\n\ninside")
    assert targets(parse) == ["http://a.com/x"]
    assert parse.language == "de"
    assert parse.metadata == {"author": "Ann, Bob", "content.type": DOC, "pages": "3"}
    method, path, headers, body = tika.asked[0]
    assert (method, path, body) == ("PUT", "/rmeta/text", b"\xd0\xcf body")
    assert (headers["content-type"], headers["accept"]) == (DOC, "application/json")
    assert "expect" not in headers


def test_nothing_is_not_sent(tika: SmallTika) -> None:
    assert only(parser(tika), page(b"", DOC)).text == ""
    assert tika.asked == []


def test_what_it_cannot_read_is_reported(tika: SmallTika) -> None:
    tika.code = 422
    assert refusal(parser(tika), page(b"x", DOC)) == "Tika cannot read it"
    tika.code = 503
    assert failed(parser(tika)).status is ParseStatus.EXCEPTION


@pytest.mark.parametrize("answer", [b"", b"no json", b"[]", b"3", b"[" * 100_000, b"\xff"])
def test_other_answers_are_reported(tika: SmallTika, answer: bytes) -> None:
    tika.answer = answer
    assert failed(parser(tika)).message == "Tika's answer is not as expected"


def test_an_answer_that_is_too_long_is_not_read(tika: SmallTika) -> None:
    tika.answer = b"[" + b" " * 1_000_000 + b"{}]"
    assert failed(parser(tika, max_size=1000)).status is ParseStatus.MEMORY


def test_one_that_never_answers_is_left(tika: SmallTika) -> None:
    tika.hangs = True
    assert failed(parser(tika, timeout=0.2)).status is ParseStatus.TIMEOUT


def test_one_that_is_not_there(tika: SmallTika) -> None:
    gone = TikaParser(Config.of({"parser.tika.url": "http://127.0.0.1:9"}))
    assert failed(gone).status is ParseStatus.EXCEPTION


def test_the_type_of_a_stranger_is_no_header_of_ours(tika: SmallTika) -> None:
    only(parser(tika), page(b"x", "a/b\r\nX-Evil: 1 ü"))
    assert "x-evil" not in tika.asked[0][2]
