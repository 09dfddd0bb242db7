"""JSON lines: each parses, says where it was, and stdout is left alone."""

from __future__ import annotations

import json
import logging
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from crawl.telemetry import logs
from crawl.telemetry.context import in_context


@pytest.fixture(autouse=True)
def text_again() -> Iterator[None]:
    yield
    logs.use_text()


def lines_of(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_a_line_is_an_object_that_says_where_it_was(capsys: pytest.CaptureFixture[str]) -> None:
    logs.use_json()
    with in_context(
        crawl="s3://b/c", phase="fetch", segment="20261115093000", step="fetch", part=3
    ):
        logging.getLogger("crawl.some").info("took %d of %d", 3, 4)
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = lines_of(captured.err)
    assert line["level"] == "info"
    assert line["logger"] == "crawl.some"
    assert line["message"] == "took 3 of 4"
    place = ("crawl", "phase", "segment", "step", "part")
    assert [line[name] for name in place] == ["s3://b/c", "fetch", "20261115093000", "fetch", 3]
    assert line["time"].endswith("Z")
    assert line["role"] == "driver"


def test_an_exception_is_inside_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    logs.use_json()
    try:
        raise ValueError("first\nsecond")
    except ValueError:
        logging.getLogger("x").exception("it failed")
    (line,) = lines_of(capsys.readouterr().err)
    assert line["exception"]["type"] == "ValueError"
    assert line["exception"]["message"] == "first\nsecond"
    assert "test_an_exception_is_inside_its_line" in line["exception"]["stack"]


@pytest.mark.parametrize("odd", ["a\nb", "\u2028", "\ud800", "\x1b[2J", 'quo"te', "ü"])
def test_no_text_can_break_out_of_its_line(odd: str, capsys: pytest.CaptureFixture[str]) -> None:
    logs.use_json()
    logging.getLogger("x").info(odd)
    written = capsys.readouterr().err
    assert written.count("\n") == 1
    assert written.isascii()
    assert json.loads(written)["message"] == odd


def test_arguments_that_do_not_fit_are_logged_all_the_same() -> None:
    record = logging.LogRecord("x", logging.INFO, "x.py", 1, "%d pages", ("none",), None)
    assert json.loads(logs.JsonLines().format(record))["message"] == "%d pages ('none',)"


def test_warnings_of_libraries_are_lines_too(capsys: pytest.CaptureFixture[str]) -> None:
    logs.use_json()
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn("old", UserWarning, stacklevel=1)
    assert "old" in lines_of(capsys.readouterr().err)[0]["message"]


def test_the_level_is_kept_to(capsys: pytest.CaptureFixture[str]) -> None:
    logs.use_json("warning")
    logging.getLogger("x").info("no")
    logging.getLogger("x").warning("yes")
    assert [line["message"] for line in lines_of(capsys.readouterr().err)] == ["yes"]


def test_twice_is_once_and_text_is_as_before(capsys: pytest.CaptureFixture[str]) -> None:
    root = logging.getLogger()
    before = (list(root.handlers), root.level)
    logs.use_json()
    logs.use_json()
    logging.getLogger("x").info("once")
    assert len(capsys.readouterr().err.splitlines()) == 1
    logs.use_text()
    assert (list(root.handlers), root.level) == before
    assert not logs.is_json()


@pytest.mark.parametrize(
    ("arguments", "asked"),
    [
        (["fetch", "c", "--log-format", "json"], True),
        (["fetch", "--log-format=json", "c"], True),
        (["fetch", "c", "-D", "log.format=json"], True),
        (["fetch", "c", "-Dlog.format=json"], True),
        (["fetch", "json", "--log-format"], False),
        (["fetch", "c", "--log-format", "text"], False),
        ([], False),
    ],
)
def test_a_wrong_command_line_too_is_logged_as_asked(arguments: list[str], asked: bool) -> None:
    assert logs.json_requested(arguments) is asked
