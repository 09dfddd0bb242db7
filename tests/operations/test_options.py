"""What is declared of an option, and how values are read by it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import pytest
from msgspec import Meta

from crawl.errors import UsageError
from crawl.operations.options import (
    Face,
    Natural,
    Positive,
    Segments,
    StealLock,
    fields_of,
    option,
    read_options,
)
from crawl.phases.dedup.options import DedupOptions


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


def read_pairs(text: str) -> dict[str, str]:
    return dict(each.split("=") for each in text.split("&"))


@dataclass(frozen=True, slots=True, kw_only=True)
class PaintOptions:
    """Every kind of option."""

    target: Annotated[str, option("What is painted.", argument=True, metavar="FILE")]
    segments: Segments = ()
    layers: Annotated[Positive, option("How many.", metavar="N")] = 2
    share: Annotated[Annotated[float, Meta(ge=0, lt=0.5)], option("Of water.")] = 0.1
    number: Annotated[Annotated[int, Meta(ge=1, le=10)] | None, option("Of brushes.")] = None
    colour: Annotated[Colour, option("The colour.")] = Colour.RED
    dry: Annotated[bool, option("Let it dry.")] = True
    preview: Annotated[bool | Natural, option("Show only.")] = False
    thinner: Annotated[bool | None, option("Thin it.", "--thinner/--no-thinner")] = None
    params: Annotated[
        Mapping[str, str] | None, option("Further ones.", parse=read_pairs, metavar="K=V")
    ] = None
    secret: Annotated[str | None, option("Only in programs.", faces=Face.API)] = None
    steal_lock: StealLock = False


def read(face: Face = Face.API, *, is_text: bool = False, **given: Any) -> PaintOptions:
    return read_options(PaintOptions, {"target": "wall", **given}, face, is_text=is_text)


def test_flags_follow_the_names() -> None:
    flags = {field.name: field.flags for field in fields_of(PaintOptions)}
    assert flags["target"] == ()
    assert flags["segments"] == ("--segments",)
    assert flags["dry"] == ("--no-dry",)
    assert flags["thinner"] == ("--thinner/--no-thinner",)
    assert flags["steal_lock"] == ("--steal-lock",)


def test_values_are_read() -> None:
    found = read(segments="a", layers=3, colour="blue", dry=False, preview=7, target=Path("x"))
    assert (found.segments, found.layers, found.colour, found.dry) == (
        ("a",),
        3,
        Colour.BLUE,
        False,
    )
    assert (found.preview, found.target) == (7, "x")
    assert read(segments=iter(["a", Path("b")])).segments == ("a", "b")
    assert read() == PaintOptions(target="wall")


def test_words_of_a_command_line_are_read() -> None:
    found = read(
        Face.COMMAND_LINE, is_text=True, layers="3", share="0.25", params="a=b&c=d", preview=True
    )
    assert (found.layers, found.share, found.params) == (3, 0.25, {"a": "b", "c": "d"})
    assert found.preview is True


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("layers", 0, "expected a whole number of at least 1, got 0"),
        ("layers", "2", "expected a whole number of at least 1, got '2'"),
        ("layers", 2.0, "expected a whole number of at least 1, got 2.0"),
        ("layers", True, "expected a whole number of at least 1, got True"),
        ("layers", None, "it is needed, and is None"),
        ("number", 11, "expected a whole number from 1 to 10, got 11"),
        ("share", 0.5, "expected a number from 0 to 0.5, got 0.5"),
        ("share", "x", "expected a number from 0 to 0.5, got 'x'"),
        ("colour", "green", "expected one of red, blue, got 'green'"),
        ("dry", 1, "expected true or false, got 1"),
        ("segments", 3, "expected a list of texts, got 3"),
        ("segments", ["a", 3], "expected a list of texts, got ['a', 3]"),
        ("segments", {"a": 1}, "expected a list of texts, got a mapping of 'a'"),
        ("target", b"x", "expected a text, got b'x'"),
        ("params", {"a": 1}, "expected texts by name, got a mapping of 'a'"),
        ("params", "a=b", "expected texts by name, got 'a=b'"),
    ],
)
def test_what_cannot_be_meant_is_one_line(name: str, value: object, message: str) -> None:
    with pytest.raises(UsageError) as fault:
        read_options(PaintOptions, {"target": "wall", name: value}, Face.API)
    assert str(fault.value) == f"{name}: {message}"


@pytest.mark.parametrize(
    ("name", "word", "message"),
    [
        ("layers", "0", "--layers: expected a whole number of at least 1, got '0'"),
        ("layers", "many", "--layers: expected a whole number of at least 1, got 'many'"),
        ("colour", "green", "--colour: expected one of red, blue, got 'green'"),
        ("params", "ab", "--params: expected texts by name, got 'ab'"),
    ],
)
def test_the_command_line_says_the_same(name: str, word: str, message: str) -> None:
    with pytest.raises(UsageError) as fault:
        read(Face.COMMAND_LINE, is_text=True, **{name: word})
    assert str(fault.value) == message


def test_unknown_and_missing_options_are_named() -> None:
    with pytest.raises(UsageError, match=r"no option 'layer' \(did you mean 'layers'\?\)"):
        read(layer=3)
    with pytest.raises(UsageError, match="target: it is needed"):
        read_options(PaintOptions, {}, Face.API)
    with pytest.raises(UsageError, match="no option 'secret'"):
        read(Face.COMMAND_LINE, secret="x")


def test_what_may_be_given_of_several_kinds() -> None:
    message = r"^preview: expected true or false or a whole number of at least 0, got 'x'$"
    with pytest.raises(UsageError, match=message):
        read_options(DedupOptions, {"preview": "x"}, Face.API)
