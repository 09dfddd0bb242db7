from __future__ import annotations

from typing import Any

import pytest

from crawl.config import Property, boolean, choice, file, string_list, text
from crawl.errors import ConfigError

FLAG = boolean("a.flag", False, "A flag.")
TEXT = text("a.text", "x", "A text.")
MODE = choice("a.mode", "host", ("host", "domain"), "A mode.")
WORDS = string_list("a.words", ("a",), "Words.")
FILE = file("a.file", "rules.txt", "A file.")


@pytest.mark.parametrize(
    ("prop", "value", "wanted"),
    [
        (FLAG, True, True),
        (FLAG, False, False),
        (TEXT, "any text ", "any text "),
        (TEXT, "", ""),
        (MODE, "domain", "domain"),
        (WORDS, ["b", "c"], ("b", "c")),
        (WORDS, ("b",), ("b",)),
        (WORDS, [], ()),
        (WORDS, "b, c d", ("b", "c", "d")),
        (FILE, "my-rules.txt", "my-rules.txt"),
    ],
)
def test_typed_values(prop: Property[Any], value: object, wanted: object) -> None:
    assert prop.parse(value, "site") == wanted


@pytest.mark.parametrize(
    ("prop", "given", "wanted"),
    [
        (FLAG, "true", True),
        (FLAG, " FALSE ", False),
        (TEXT, " kept as it is ", " kept as it is "),
        (TEXT, "5", "5"),
        (MODE, " host", "host"),
        (WORDS, "opic,depth", ("opic", "depth")),
        (WORDS, " opic  depth ", ("opic", "depth")),
        (WORDS, "", ()),
        (FILE, "a/b.txt", "a/b.txt"),
    ],
)
def test_texts(prop: Property[Any], given: str, wanted: object) -> None:
    assert prop.parse_text(given, "-D") == wanted


@pytest.mark.parametrize(
    ("prop", "value", "message"),
    [
        (FLAG, "true", 'a.flag: expected true or false, got "true" (from site)'),
        (FLAG, 1, "a.flag: expected true or false, got 1 (from site)"),
        (TEXT, 5, "a.text: expected a text, got 5 (from site)"),
        (MODE, "hots", 'a.mode: expected one of host, domain, got "hots" (from site)'),
        (MODE, ["host"], 'a.mode: expected one of host, domain, got ["host"] (from site)'),
        (
            WORDS,
            ["a b"],
            'a.words: expected a list of words (such as ["a", "b"] or "a b"),'
            ' got ["a b"] (from site)',
        ),
        (
            WORDS,
            [1],
            'a.words: expected a list of words (such as ["a", "b"] or "a b"), got [1] (from site)',
        ),
        (FILE, True, "a.file: expected the name of a file, got true (from site)"),
    ],
)
def test_wrong_typed_values_are_one_clear_line(
    prop: Property[Any], value: object, message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        prop.parse(value, "site")
    assert str(caught.value) == message


@pytest.mark.parametrize("given", ["yes", "1", "", "truely"])
def test_a_boolean_is_true_or_false_and_nothing_else(given: str) -> None:
    with pytest.raises(ConfigError, match=r"^a\.flag: expected true or false, got "):
        FLAG.parse_text(given, "-D")


def test_a_file_name_without_nul() -> None:
    with pytest.raises(ConfigError, match="expected the name of a file"):
        FILE.parse_text("a\0b", "-D")
