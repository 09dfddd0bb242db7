from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.config import Config
from crawl.plugins.parser.json import JsonParser
from crawl.testing.parser_contract import ParserContract
from tests.plugins.parser.pages import only, page, refusal, targets

PARSER = JsonParser(Config.of())
JSON = "application/json"


class TestContract(ParserContract):
    plugin_class = JsonParser

    def samples(self) -> list[bytes]:
        return [b'{"url": "/x", "t": "\\ud800 http://a.com/"}', b"[" * 5000]


def test_strings_are_text_and_urls_are_links() -> None:
    body = json.dumps(
        {
            "headline": " A  title ",
            "url": "/relative",
            "path": "/no/link",
            "image": ["http://a.com/1.png", {"contentUrl": "../2.png"}],
            "number": 12,
            "nothing": None,
            "text": "see http://b.com/x, please",
        }
    )
    parse = only(PARSER, page(body, "application/ld+json"))
    assert parse.title == "A title"
    assert parse.text.split("\n")[0] == "A  title"
    assert "12" in parse.text  # written as it stands
    assert targets(parse) == [
        "http://www.example.com/relative",
        "http://a.com/1.png",
        "http://www.example.com/2.png",
        "http://b.com/x",
    ]


@pytest.mark.parametrize("body", ['"text"', "[]", "{}", "null", "true", "1", '["a", ["b"]]'])
def test_any_document(body: str) -> None:
    assert only(PARSER, page(body, JSON)).outlinks == ()


@pytest.mark.parametrize("body", ["", "text", "{", "[1,", "<html>", "{'a': 1}", "\0", '"'])
def test_what_is_none_is_reported(body: str) -> None:
    assert refusal(PARSER, page(body, JSON)).startswith("no JSON")


def test_depth_is_bounded() -> None:
    assert only(PARSER, page("[" * 100 + '"x"' + "]" * 100, JSON)).text == "x"
    for deep in ("[" * 101 + "]" * 101, "[" * 500_000, '{"a":' * 500_000):
        assert "levels deep" in refusal(PARSER, page(deep, JSON))
    assert only(PARSER, page('"' + "[" * 1000 + '"', JSON)).text == "[" * 1000


def test_strings_and_numbers_are_bounded() -> None:
    few = JsonParser(Config.of({"parser.json.max.strings": 2}))
    assert only(few, page('["a", "b", "c"]', JSON)).text == "a\nb"
    assert only(PARSER, page("[" + "9" * 100_000 + "]", JSON)).outlinks == ()


def test_a_flood_of_values_is_not_read() -> None:
    assert "values" in refusal(PARSER, page("[" + "1," * 2_000_001 + "1]", JSON))


def test_half_characters_can_be_stored() -> None:
    assert only(PARSER, page('["\\ud800x"]', JSON)).text == "\ufffdx"


@pytest.mark.parametrize("piece", ['"', '\\"', '"\\', "{", "]", '"a":', "\\"])
def test_floods(piece: str) -> None:
    assert refusal(PARSER, page(piece * 200_000, JSON))


documents = st.recursive(
    st.one_of(st.none(), st.booleans(), st.floats(), st.integers(), st.text(max_size=20)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(documents)
def test_every_string_of_a_document_is_in_its_text(document: object) -> None:
    text = only(PARSER, page(json.dumps(document), JSON)).text

    def strings(value: object) -> list[str]:
        if isinstance(value, str):
            return [value]
        if isinstance(value, dict):
            return [each for member in value.values() for each in strings(member)]
        if isinstance(value, list):
            return [each for member in value for each in strings(member)]
        return []

    for string in strings(document):
        assert string.strip().replace("\0", "\ufffd") in text
