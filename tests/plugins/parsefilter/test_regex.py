from __future__ import annotations

from typing import Any

import pytest

from crawl.config import Config
from crawl.errors import ConfigError
from crawl.model.parse import Parse
from crawl.plugins.parsefilter.regex import RegexParseFilter
from crawl.testing.parsefilter_contract import URL, ParseFilterContract, a_page

RULES = """# comment
form\thtml\t(?i)<form[ >]
sale  text  (?i)\\bfor sale\\b
sale  text  add to cart
twice text  (\\w)\\1
quad  text  ^(a+)+$
"""


def found(rules: str, markup: str = "", text: str = "", **settings: object) -> dict[str, str]:
    plugin = RegexParseFilter(Config.of(settings, files={"regex-parsefilter.txt": rules}))
    return dict(plugin.filter(a_page(markup), Parse(URL, text=text)).metadata)


class TestShippedContract(ParseFilterContract):
    plugin_class = RegexParseFilter


class TestContract(ParseFilterContract):
    plugin_class = RegexParseFilter

    def config(self) -> Config:
        return Config.of({"parsefilter.regex.rules": RULES.replace("quad", "# quad")})


def test_the_shipped_rules_say_nothing() -> None:
    parse = Parse(URL)
    assert RegexParseFilter(Config.of()).filter(a_page("x"), parse) is parse


@pytest.mark.parametrize(
    ("markup", "text", "true"),
    [
        ("<FORM action=x>", "All of it FOR SALE", {"form", "sale", "twice"}),
        ("<formula>", "add to cart form", {"sale", "twice"}),
        ("for sale", "<form>", set()),
        ("", "aaa", {"twice", "quad"}),
    ],
)
def test_each_name_is_true_or_false(markup: str, text: str, true: set[str]) -> None:
    metadata = found(RULES, markup, text)
    assert metadata.keys() == {"form", "sale", "twice", "quad"}
    assert {name for name, value in metadata.items() if value == "true"} == true
    assert set(metadata.values()) <= {"true", "false"}


def test_hostile_text_takes_no_longer_than_other_text() -> None:
    # by backtracking, this would take longer than the universe is old
    assert found("evil text ^(a+)+$", text="a" * 100_000 + "b") == {"evil": "false"}


def test_an_expression_that_only_python_knows_sees_the_beginning() -> None:
    rules = "x text (?<=a)b"
    assert found(rules, text="ab") == {"x": "true"}
    limit: dict[str, Any] = {"parsefilter.regex.max.length": 3}
    assert found(rules, text="xxxab", **limit) == {"x": "false"}


def test_any_text_can_be_searched() -> None:
    assert found("x text é.b", text="\ud800é\0b") == {"x": "true"}


@pytest.mark.parametrize(
    ("rules", "complaint"),
    [
        ("\nname text", "^regex-parsefilter.txt:2: expected a name, html or text, and an"),
        ("name body x", "^regex-parsefilter.txt:1: expected html or text, got 'body'$"),
        ("name text (", "^regex-parsefilter.txt:1: '\\(' is not a regular expression"),
    ],
)
def test_a_bad_line_is_reported_with_its_number(rules: str, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        found(rules)


def test_rules_in_the_configuration_go_first() -> None:
    settings = {"parsefilter.regex.rules": "y text b"}
    assert found("x text a", text="b", **settings) == {"y": "true"}
