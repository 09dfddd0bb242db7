from __future__ import annotations

import pytest

from crawl.config import Config
from crawl.errors import ConfigError
from crawl.interfaces.page import Page
from crawl.model.content import Content
from crawl.model.parse import Parse
from crawl.parsing.fields.extraction import LONGEST_VALUE, MAX_VALUES
from crawl.parsing.fields.stored import EXPLAINED_KEY, explained_fields
from crawl.plugins.parsefilter.fields import FieldsParseFilter
from crawl.testing.parsefilter_contract import URL, ParseFilterContract, a_page

RULES = r"""
[[rule]]
name = "shop"
hosts = ["*.example.org"]
paths = ["/product/*"]
[rule.fields.price]
css = "span.price"
kind = "number"
decimal = ","
[rule.fields.tags]
css = "ul a"
list = true
[rule.fields.links]
css = "ul a"
attribute = "href"
kind = "url"
list = true
[rule.fields.number]
xpath = "//table/tbody/tr[th='Number']/td"
regex = "No\\. (\\w+)"
[rule.fields.seen]
css = "time"
attribute = "datetime"
kind = "datetime"
[rule.fields.stock]
css = ".stock"
kind = "integer"
default = 0

[[rule]]
hosts = ["*"]
[rule.fields.price]
css = "[itemprop=price]"
attribute = "content"
kind = "number"
"""
PAGE = """<!DOCTYPE html><base href="/shop/"><span class=price>1.299,00 €</span>
<time datetime="2026-11-18T10:00:00+01:00">yesterday</time>
<ul><li><a href="t/a">cha<b>irs</b></a><li><a href="t/b">blue<script>x</script></a></ul>
<table><tr><th>Number<td>No. A17x</table><span class=stock>many</span>"""


def filtered(markup: str, url: str, rules: str = RULES, *, explain: bool = False) -> Parse:
    settings = {"parsefilter.fields.explain": explain}
    plugin = FieldsParseFilter(Config.of(settings, files={"fields.toml": rules}))
    page = Page(Content(url, markup.encode("utf-8", "surrogatepass")), "text/html")
    return plugin.filter(page, Parse(url))


class TestShippedContract(ParseFilterContract):
    plugin_class = FieldsParseFilter


class TestContract(ParseFilterContract):
    plugin_class = FieldsParseFilter

    def config(self) -> Config:
        return Config.of(files={"fields.toml": RULES})


def test_the_shipped_rules_say_nothing() -> None:
    parse = Parse(URL)
    assert FieldsParseFilter(Config.of()).filter(a_page("x"), parse) is parse


def test_fields_are_metadata_and_counted() -> None:
    parse = filtered(PAGE, "https://www.example.org/product/1")
    assert parse.metadata == {
        "field.price": "1299.0",
        "field.tags": '["chairs", "blue"]',
        "field.links": '["https://www.example.org/shop/t/a", "https://www.example.org/shop/t/b"]',
        "field.number": "A17x",
        "field.seen": "2026-11-18T09:00:00Z",
        "field.stock": "0",
    }
    assert parse.counts == {
        "fields.pages": 1,
        "fields.rule.shop": 1,
        "fields.rule.*": 1,
        **{f"fields.found.{name}": 1 for name in ("price", "tags", "links", "number", "seen")},
        "fields.defaulted.stock": 1,
        "fields.unconverted.stock": 1,
    }


def test_rules_are_for_their_hosts_and_paths() -> None:
    for url in ("https://example.org/product/1", "https://a.example.org/about"):
        assert filtered(PAGE, url).counts == {
            "fields.pages": 1,
            "fields.rule.*": 1,
            "fields.missing.price": 1,
        }
    other = filtered("<meta itemprop=price content=12.50>", "https://a.org/")
    assert other.metadata == {"field.price": "12.5"}
    second = filtered("<meta itemprop=price content=12.50>", "https://b.example.org/product/9")
    assert second.metadata["field.price"] == "12.5"  # by the rule that finds it
    pdf = Page(Content(URL, b"%PDF"), "application/pdf")
    parse = Parse(URL)
    assert FieldsParseFilter(Config.of(files={"fields.toml": RULES})).filter(pdf, parse) is parse


def test_a_host_may_be_written_as_people_read_it() -> None:
    rules = """
    [[rule]]
    hosts = ["Bücher.example", "*.bücher.example"]
    [rule.fields.a]
    css = "p"
    """
    for host in ("bücher.example", "www.xn--bcher-kva.example"):
        assert filtered("<p>x", f"https://{host}/", rules).metadata == {"field.a": "x"}
    assert filtered("<p>x", "https://example/", rules).counts == {}


def test_why_nothing_was_found_is_told() -> None:
    url = "https://www.example.org/product/1"
    parse = filtered("<span class=price>12.5.0</span><time>x</time>", url, explain=True)
    found = {each.name: each for each in explained_fields(parse.metadata)}
    assert found["price"].problem == (
        "shop: '12.5.0' is no number; '[itemprop=price]' matched nothing"
    )
    assert found["seen"].problem == "the element has no attribute datetime"
    assert found["tags"].problem == "'ul a' matched nothing" and found["tags"].rule == "shop"
    assert found["stock"].values == ("0",) and found["stock"].is_default
    parse = filtered("<table><tr><th>Number<td>A17x</table>", url, explain=True)
    found = {each.name: each for each in explained_fields(parse.metadata)}
    assert found["number"].problem == r"'No\\. (\\w+)' is not in 'A17x'"
    rules = RULES.replace('hosts = ["*"]', 'hosts = ["other.org"]')
    parse = filtered(PAGE, "https://a.net/", rules, explain=True)
    assert "no rule" in explained_fields(parse.metadata)[0].problem
    assert EXPLAINED_KEY not in filtered(PAGE, url).metadata


def test_values_are_bounded_and_what_is_cut_is_counted() -> None:
    many = "<ul>" + "<a>x</a>" * (MAX_VALUES + 7) + "</ul><p>" + "y" * (LONGEST_VALUE + 9)
    rules = """
    [[rule]]
    hosts = "*"
    [rule.fields.tags]
    css = "ul a"
    list = true
    [rule.fields.long]
    css = "p"
    """
    parse = filtered(many, "https://a.org/", rules)
    assert parse.metadata["field.tags"].count("x") == MAX_VALUES
    assert len(parse.metadata["field.long"]) == LONGEST_VALUE
    assert parse.counts["fields.cut.tags"] == 7 and parse.counts["fields.cut.long"] == 1


@pytest.mark.parametrize(
    "markup",
    ["<div>" * 50_000, "<p \ud800='\x00'>\x00\ud800</p>", "", "<a:b c:d=1 @e>f", "<svg><p>" * 900],
)
def test_hostile_pages_have_no_fields_and_do_no_harm(markup: str) -> None:
    rules = """
    [[rule]]
    hosts = ["*"]
    [rule.fields.all]
    xpath = "//*"
    list = true
    [rule.fields.one]
    css = "p"
    html = true
    """
    parse = filtered(markup, "https://a.org/", rules)
    assert parse.counts["fields.pages"] == 1
    for value in parse.metadata.values():
        value.encode()


_RULE = '[[rule]]\nhosts = ["a.org"]\n'
_FIELD = _RULE + '[rule.fields.price]\ncss = "p"\n'


@pytest.mark.parametrize(
    ("rules", "problem"),
    [
        ("[[rule]\n", r"^fields.toml: .*line 1"),
        ("[rules]\nx = 1", r"^fields.toml: 'rules' is unknown: expected tables \[\[rule\]\] \(did"),
        ("[[rule]]\n", r"^fields.toml:1: rule 1: hosts: which are they"),
        ('[[rule]]\nhosts = ["a.org/x"]', r"^fields.toml:1: rule 1: hosts: 'a.org/x' is no host"),
        (_RULE, r"^fields.toml:1: rule 1 \(a.org\): it has no fields"),
        (_RULE + 'path = "/x"', r"unknown key 'path' \(did you mean 'paths'\?\)$"),
        (_RULE + "[rule.fields.Price]", r"^fields.toml:3: rule 1 \(a.org\), field Price: no name"),
        (_RULE + "[rule.fields.title]", "in every index"),
        (_RULE + "[rule.fields.price]", r"^fields.toml:3: .*, field price: expected css or xpath$"),
        (_FIELD + 'xpath = "//p"', "expected css or xpath, not both$"),
        (_FIELD + 'knid = "date"', r"field price: unknown key 'knid' \(did you mean 'kind'\?\)$"),
        (_FIELD + 'kind = "numbr"', r"kind: expected text, .* \(did you mean 'number'\?\)$"),
        (_FIELD + "list = 1", "list: expected true or false, got 1$"),
        (_FIELD + 'regex = "("', r"regex: '\(' is no regular expression"),
        (_FIELD + 'kind = "number"\ndefault = "x"', "default: 'x' is no number$"),
        (_FIELD + "list = true\ndefault = 'x'", "default: expected a list$"),
        (_FIELD + 'decimal = ","', "decimal: .* of a number$"),
        (_FIELD + 'format = "%d"', "format: of a date"),
        (_FIELD + 'kind = "date"\nformat = "%Q"', "format: '%Q' is none that strptime reads"),
        (_FIELD + 'kind = "date"\nformat = "%d %B"', "format: '%d %B' has no year, such as"),
        (_RULE + '[rule.fields.a]\nxpath = "//p\\u0000"', r"xpath: .* is no XPath expression"),
        ('[[rule]]\nhosts = ["a.org?x"]', r"hosts: 'a.org\?x' is no host"),
        (_RULE + '[rule.fields.a]\ncss = "p["', r"css: 'p\[' is no CSS selector$"),
        (_RULE + '[rule.fields.a]\ncss = "p::text"', "without ::text"),
        (_RULE + '[rule.fields.a]\nxpath = "//p["', r"xpath: '//p\[' is no XPath expression"),
        (_FIELD + "\n" + _FIELD + 'kind = "date"', "field price is text in rule a.org and date"),
    ],
)
def test_a_wrong_rule_file_is_one_line_that_names_the_place(rules: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem) as caught:
        FieldsParseFilter(Config.of(files={"fields.toml": rules}))
    assert "\n" not in str(caught.value)
