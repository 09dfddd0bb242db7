from __future__ import annotations

import pytest

from crawl.config import Config, Property, file, text
from crawl.errors import ConfigError
from crawl.urls.rule_lines import RuleLine, rule_lines

FILE: Property[str] = file("test.file", "rules.txt", "Rules.")
INLINE: Property[str] = text("test.rules", "", "Rules, inline.")


def test_lines_with_their_numbers_and_without_comments() -> None:
    config = Config.of(files={"rules.txt": "# c\n\n  a b \r\n\t# c\nx\x0by\n"})
    assert list(rule_lines(config, FILE, INLINE)) == [
        RuleLine("rules.txt", 3, "  a b"),
        RuleLine("rules.txt", 5, "x\x0by"),
    ]


def test_inline_rules_go_before_the_file() -> None:
    config = Config.of({"test.rules": "a\nb"}, files={"rules.txt": "c"})
    assert [line.place for line in rule_lines(config, FILE, INLINE)] == [
        *("test.rules:1", "test.rules:2")
    ]
    assert [line.text for line in rule_lines(config, FILE)] == ["c"]


def test_a_file_in_a_folder_is_named_by_its_name() -> None:
    config = Config.of({"test.file": "some/folder/mine.txt"}, files={"some/folder/mine.txt": "a"})
    assert [line.place for line in rule_lines(config, FILE)] == ["mine.txt:1"]


@pytest.mark.parametrize("expression", ["(", "a{2,1}", "*", r"\p{L}", "(?<x>a)", ""])
def test_a_bad_expression_is_reported_with_its_place(expression: str) -> None:
    with pytest.raises(ConfigError, match=r"^rules\.txt:7: "):
        RuleLine("rules.txt", 7, expression).compile(expression)


def test_flags_are_taken_wherever_java_takes_them() -> None:
    pattern = RuleLine("rules.txt", 1, "").compile("/((?i)index|home)[.](?-i)html")
    assert [bool(pattern.search(url)) for url in ("/Index.html", "/HOME.html", "/index.HTML")] == [
        *(True, True, False)
    ]
