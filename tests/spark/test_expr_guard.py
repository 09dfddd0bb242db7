"""Which expressions are refused, and which words are only text."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.errors import ParseException
from pyspark.sql import SparkSession

from crawl.errors import UsageError
from crawl.spark.expr_guard import refuse_forbidden
from tests.examples import scaled

WORDS = ["reflect", "java_method", "try_reflect", "select", "assert_true", "raise_error"]


def is_refused(expr: str) -> bool:
    try:
        refuse_forbidden("--expr", expr)
    except UsageError:
        return True
    return False


@pytest.mark.parametrize(
    "expr",
    [
        "url LIKE '%/select/%'",
        "url LIKE '%/it''s/select/%' AND score > 1",
        'url LIKE "%/select/%"',
        "url LIKE '%\\_select%'",
        "url RLIKE r'\\d+/select$'",
        "score > 1 -- select the best",
        "score > 1 /* not (select 1) */ AND status = 'db_gone'",
        "score > /* a /* nested select */ one */ 1",
        "metadata['reflect'] = 'x' OR metadata[\"select\"] = 'y'",
        "trim(BOTH '/' FROM url) = 'x' AND fetch_time IS DISTINCT FROM modified_time",
        "extract(YEAR FROM fetch_time) > 2020",
        "selected > 1",
        "url = '$select'",
    ],
)
def test_words_in_literals_and_comments_are_text(expr: str) -> None:
    refuse_forbidden("--expr", expr)


@pytest.mark.parametrize(
    "expr",
    [
        "score > (select 1)",
        "score > (SeLeCt 1)",
        "score > (ſelect 1)",
        "score > ( /* x */ TABLE secrets)",
        "score > (VALUES 1)",
        "EXISTS ( -- one\n WITH a AS (TABLE b) TABLE a)",
        "EXISTS ((FROM secrets))",
        "EXISTS (FROM secrets |> LIMIT 1)",
        "`reflect`('java.lang.System', 'exit')",
        "system.builtin.`reflect`('a', 'b')",
        "`system`.`builtin`.`REFLECT`('a', 'b')",
        "\"reflect\"('a', 'b')",
        "\"reflect\" /* so */ ('a', 'b')",
        "IDENTIFIER('ref' || 'lect')('java.lang.System', 'exit')",
        "url = 'a' AND java_method('a', 'b') = 'c'",
        "url = 'a\\' AND java_method(' AND ' = 1",
        "url = r'a\\' AND java_method('x', 'y') = 'c'",
        "url = 'it''s' AND reflect('a', 'b') = 'c'",
        "url = 'a' -- ' \n AND reflect('a', 'b') = 'c'",
        "url = 'a' /* ' */ AND reflect('a', 'b') = 'c' /* ' */",
        "1 /* /* */ + reflect('a', 'b') /* */ */",
        "/*+ select */ 1",
        "$$ ' $$ || reflect('a', 'b') || $$ ' $$",
        "map(1, 2) USING 'script'",
    ],
)
def test_what_reaches_beyond_the_row_is_refused(expr: str) -> None:
    with pytest.raises(UsageError, match="may not be used in an expression"):
        refuse_forbidden("--expr", expr)


_TEXT = st.text(st.sampled_from("abc'\"`\\-/*%_ \n$r"), max_size=12)


def _literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"


_PIECES = st.one_of(
    _TEXT.map(_literal),
    _TEXT.map(lambda text: "r'" + text.replace("'", "") + "'"),
    _TEXT.map(lambda text: "`" + text.replace("`", "``") + "`"),
    _TEXT.map(lambda text: "/*" + text.replace("*", "").replace("/", "") + "*/"),
    _TEXT.map(lambda text: "--" + text.replace("\n", "") + "\n"),
    st.sampled_from(["score", ">", "1", "AND", "(", ")", "||", "upper"]),
)
"""Whole tokens, in each of which anything may be that the token can have."""


@settings(max_examples=scaled(500), deadline=None)
@given(st.lists(_PIECES, max_size=6), st.sampled_from(WORDS), st.lists(_PIECES, max_size=6))
def test_a_word_between_whole_tokens_is_never_missed(
    before: list[str], word: str, after: list[str]
) -> None:
    assert is_refused(" ".join([*before, f"{word}('a', 'b')", *after]))


@settings(max_examples=scaled(300), deadline=None)
@given(st.text(st.sampled_from("ab%/_'. "), max_size=10), st.sampled_from(WORDS))
def test_a_word_in_a_literal_is_never_refused(around: str, word: str) -> None:
    assert not is_refused(f"url LIKE {_literal(f'{around} {word} {around}')} AND score > 1")


@pytest.mark.spark  # what is code is for Spark's own parser to say
def test_what_spark_would_call_is_refused(spark: SparkSession) -> None:
    """Texts by chance: of those that Spark can read, none calls what it must not and passes."""
    jvm: Any = spark
    parser = jvm._jsparkSession.sessionState().sqlParser()
    pieces = ["'", '"', "`", "\\", "--", "/*", "*/", "\n", "r'", "a", "1", "+", "(", ")", "''", " "]
    pieces += ["reflect('x', 'y')", "`reflect`('x', 'y')", "(select 1)", "(TABLE t)", "$$", "||"]
    chance = random.Random(24)
    read = called = 0
    for _ in range(scaled(4_000)):
        expr = "".join(chance.choices(pieces, k=chance.randint(1, 9)))
        if "reflect" not in expr and "select" not in expr and "TABLE" not in expr:
            continue
        try:
            parsed = parser.parseExpression(expr)
        except (ParseException, ValueError):
            continue
        read += 1
        if _reaches_out(parsed):
            called += 1
            assert is_refused(expr), expr
    assert read > scaled(50) and called > scaled(20)


def _reaches_out(node: Any) -> bool:
    kind = str(node.getClass().getSimpleName())
    if kind == "UnresolvedFunction" and str(node.nameParts().mkString(".")).lower() == "reflect":
        return True
    if "Subquery" in kind or kind in ("Exists", "ListQuery"):
        return True
    children = node.children()
    return any(_reaches_out(children.apply(place)) for place in range(children.size()))
