from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.html.tokens import MAX_DEPTH, VOID, Token, attributes_of, feed, tokens


class Written:
    """What a handler was given, as text; unbalanced ends are a fault."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.open: list[str] = []
        self.deepest = 0

    def start(self, tag: str, attributes: Mapping[str, str | None]) -> None:
        self.parts.append(f"<{tag}>")
        if tag not in VOID:
            self.open.append(tag)
            self.deepest = max(self.deepest, len(self.open))

    def end(self, tag: str) -> None:
        assert self.open.pop() == tag
        self.parts.append(f"</{tag}>")

    def text(self, data: str) -> None:
        self.parts.append(data)


def written(markup: str) -> str:
    handler = Written()
    feed(markup, handler)
    assert handler.open == []
    return "".join(handler.parts)


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("", ""),
        ("a<b>c</b>d", "a<b>c</b>d"),
        ("<P CLASS=x>a", "<p>a</p>"),
        ("<b><i>x</b>y</i>", "<b><i>x</i></b>y"),
        ("<a>1<a>2</a>", "<a>1</a><a>2</a>"),
        ("<br><br/>x</br>", "<br><br>x"),
        ("<svg><path d=1 /><path></svg>", "<svg><path></path><path></path></svg>"),
        ("<script>a<b></script>c", "<script>a<b></script>c"),
        ("<script>a</scripts></SCRIPT >c", "<script>a</scripts></script>c"),
        ("<title>a&amp;<b></title>c", "<title>a&<b></title>c"),
        ("<style>never ends<p>", "<style>never ends<p></style>"),
        ("<plaintext></plaintext><p>", "<plaintext></plaintext><p></plaintext>"),
        ("a<!-- <b> -->c<!-->d<!x>e<?y?>f</3>g", "acdefg"),
        ("a<!-- never ends", "a"),
        ("1 < 2 <3", "1 < 2 <3"),
        ("<a title='>'>x", "<a>x</a>"),
        ('<a title=">x', "<a>x</a>"),
        ('<a ">x', "<a>x</a>"),
        ("<template><p>a<template></template></template>b", "b"),
        ("</template>a</p>", "a"),
        ("&lt;&#65;&#0;\0", "<A\ufffd"),
    ],
)
def test_pages_come_well_nested(markup: str, expected: str) -> None:
    assert written(markup) == expected


@pytest.mark.parametrize(
    ("written_as", "expected"),
    [
        ("", {}),
        (" a=1 B='2' c=\"3\" d", {"a": "1", "b": "2", "c": "3", "d": None}),
        (" a = 1  b=' x '", {"a": "1", "b": " x "}),
        ("/a/b=/c", {"a": None, "b": "/c"}),
        (" a=1 A=2", {"a": "1"}),
        (" a=&lt;&amp;", {"a": "<&"}),
        (" a= b", {"a": "b"}),
        (" ='x' y", {"='x'": None, "y": None}),
    ],
)
def test_attributes(written_as: str, expected: dict[str, str | None]) -> None:
    assert attributes_of(written_as) == expected


def test_of_many_attributes_the_first() -> None:
    assert len(attributes_of("".join(f" a{n}=1" for n in range(5000)))) == 100


def test_what_is_too_deep_lies_beside_each_other() -> None:
    handler = Written()
    feed("<div>" * 1000 + "text<script>code</script>" + "</div>" * 1000 + "end", handler)
    assert handler.open == []
    assert handler.deepest == MAX_DEPTH + 1
    text = "".join(handler.parts)
    assert "text<script>code</script>" in text and text.endswith("end")
    assert text.count("<div>") == text.count("</div>") == 1000


@given(st.text(alphabet="<>/!-=\"'& abpscript\n\0&#;tl", max_size=200))
def test_any_text_comes_well_nested(markup: str) -> None:
    written(markup)


@given(st.text(alphabet="<>/!?-=\"' ab\n", max_size=100))
def test_no_character_is_read_twice(markup: str) -> None:
    read_count = sum(
        len(value) + len(rest) for what, value, rest in tokens(markup) if what is not None
    )
    assert read_count <= len(markup)
    assert all(what is Token.TEXT for what, _, _ in tokens(markup.replace("<", "")))
