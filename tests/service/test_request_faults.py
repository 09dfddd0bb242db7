"""What whoever sends something wrong is told, of every field of every body and tool."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from msgspec import inspect

from crawl.errors import UsageError
from crawl.service.api import bodies
from crawl.service.api.webhook_handlers import WebhookWish
from crawl.service.mcp.arguments import read_arguments
from crawl.service.mcp.tools import TOOLS
from crawl.service.request_faults import plain_values

A = "http://a.test/"
BODIES = (bodies.Submission, bodies.Lookup, bodies.Fetch, bodies.SiteWish, WebhookWish)
KINDS = (*BODIES, *(tool.arguments for tool in TOOLS))
WRONG: tuple[Any, ...] = (
    None,
    True,
    5,
    -1,
    1.5,
    10**30,
    "",
    "\x1b[2J",
    "x\n",
    [],
    [5],
    ["\n"] * 2000,
    {},
    {"?": 1},
)
NEEDED: dict[str, Any] = {"url": A, "urls": [A], "seeds": [A], "query": "x", "crawl": "c-1"}


def told(kind: type[Any], given: Any) -> str:
    """What is said of it; empty where it is taken."""
    try:
        if kind in BODIES:
            bodies.read_body(
                given if isinstance(given, bytes) else json.dumps(given).encode(), kind
            )
        else:
            read_arguments(given, kind)
    except UsageError as error:
        return str(error)
    return ""


def fields(kind: type[Any], *names: str) -> Iterator[tuple[tuple[str, ...], inspect.Field]]:
    """All fields of a kind, those of the objects in it too, with the names that lead to them."""
    struct = inspect.type_info(kind)
    assert isinstance(struct, inspect.StructType)
    for each in struct.fields:
        yield (*names, each.encode_name), each
        if isinstance(each.type, inspect.StructType):
            yield from fields(each.type.cls, *names, each.encode_name)


def given_at(kind: type[Any], names: tuple[str, ...], value: Any) -> dict[str, Any]:
    """What a kind needs, with this at the end of the names."""
    struct = inspect.type_info(kind)
    assert isinstance(struct, inspect.StructType)
    given = {each.name: NEEDED[each.name] for each in struct.fields if each.required}
    at = given
    for name in names[:-1]:
        at = at.setdefault(name, {})
    at[names[-1]] = value
    return given


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_field_is_told_of_by_its_name_and_in_plain_words(kind: type[Any]) -> None:
    for names, _ in fields(kind):
        complaints = [told(kind, given_at(kind, names, value)) for value in WRONG]
        assert any(complaints), names
        for said in filter(None, complaints):
            assert said.startswith(".".join(names)), said
            assert ": expected " in said or "it is needed" in said or "there is no field" in said
            for technical in ("`", "regex", "Expected", "str", "int ", "array", "$", "^", "\n"):
                assert technical not in said.replace("registered", ""), said


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_line_feed_behind_what_is_right_is_wrong(kind: type[Any]) -> None:
    """`$` of a pattern stands before it, too."""
    for names, each in fields(kind):
        patterns = [found for found in _texts(each.type) if found.pattern is not None]
        for value in ("high\n", "markdown\n", "15min\n", "a.test\n", "en\n", "30d\n", "c-1\n"):
            if patterns or "priority" in names:
                assert told(kind, given_at(kind, names, value)), (names, value)
                assert told(kind, given_at(kind, names, [value])), (names, value)


def _texts(place: Any) -> Iterator[inspect.StrType]:
    if isinstance(place, inspect.Metadata):
        yield from _texts(place.type)
    elif isinstance(place, inspect.UnionType):
        for each in place.types:
            yield from _texts(each)
    elif isinstance(place, inspect.VarTupleType):
        yield from _texts(place.item_type)
    elif isinstance(place, inspect.StrType):
        yield place


@pytest.mark.parametrize(
    ("kind", "given", "said"),
    [
        (bodies.Fetch, b"", "the body is empty: expected an object"),
        (bodies.Fetch, b"{", "the body is no JSON: Input data was truncated"),
        (bodies.Fetch, b"[]", "the body: expected an object, got a list"),
        (bodies.Fetch, {}, "url: it is needed"),
        (
            bodies.Fetch,
            {"url": A, "max_aeg": 5},
            "there is no field 'max_aeg' (did you mean 'max_age'?); there are url, max_age,"
            " priority, tags, formats, image",
        ),
        (
            bodies.Fetch,
            {"url": A, "priority": "urgent"},
            "priority: expected high, normal or low, got 'urgent'",
        ),
        (
            bodies.Fetch,
            {"url": A, "max_age": -1},
            "max_age: expected seconds from 0 on or a text such as 15min, got -1",
        ),
        (
            bodies.Submission,
            {"urls": [A, {"url": A, "tags": ["x", "a\x1b[2J"]}]},
            "urls[1].tags[1]: expected a text of 1 to 100 characters without control characters,"
            r" got 'a\x1b[2J'",
        ),
        (
            bodies.Submission,
            {"url": A, "tags": ["x"] * 21},
            "tags: expected a list of at most 20 entries, got 21 entries",
        ),
        (
            bodies.Submission,
            {"url": "h" * 9000},
            "url: expected a URL of 1 to 8,192 characters, got 9,000 characters",
        ),
        (
            bodies.SiteWish,
            {"seeds": [A], "limits": {"pages": 1.5}},
            "limits.pages: expected a whole number from 1 to 10,000,000, got 1.5",
        ),
        (
            bodies.SiteWish,
            {"seeds": [A], "limits": {"seconds": "5s"}},
            "limits.seconds: expected a number above 0 and up to 315,360,000, got '5s'",
        ),
    ],
)
def test_what_is_wrong_is_said_in_the_words_of_whoever_sent_it(
    kind: type[Any], given: Any, said: str
) -> None:
    assert told(kind, given) == said


@pytest.mark.parametrize("control", ["\x00", "\n", "\x7f", "\x9b", "\u2028", "\u202e", "\u2066"])
def test_tags_have_no_control_characters(control: str) -> None:
    for kind in (bodies.Submission, bodies.Fetch, WebhookWish, bodies.SiteWish):
        for tag in (control, f"a{control}", f"{control}a", f"a{control}b"):
            assert "control characters" in told(kind, given_at(kind, ("tags",), [tag]))
        assert told(kind, given_at(kind, ("tags",), ["näws room", "新聞", "a\u200db", "✓"])) == ""


def test_a_name_that_says_how_messages_end_misleads_nobody() -> None:
    said = told(bodies.Fetch, {"url": A, "x` - at `$.url": 1})
    assert "\n" not in said and len(said) < 500
    assert told(bodies.Fetch, {"url": A, "x" * 5000: 1}).count("x" * 61) == 0


def test_what_is_large_is_not_read_again_to_be_repeated() -> None:
    large = json.dumps({"url": 5, "tags": ["x" * 100] * 1000}).encode()
    assert plain_values(large) is msgspec.UNSET
    assert told(bodies.Fetch, large) == "url: expected a URL of 1 to 8,192 characters"
