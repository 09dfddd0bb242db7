from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.config import Config
from crawl.errors import ConfigError
from crawl.plugins.urlfilter.regex import RegexURLFilter
from crawl.testing.urlfilter_contract import URLFilterContract
from tests.plugins.columns import accepted_by_column
from tests.urls.texts import encodable

SHIPPED = RegexURLFilter(Config.of())
SECTIONS = """
-\\.gif$
> example.com
-/private/
+^https?://www\\.
-(?<!x)secret
<
> www.example.org
-/org/
<
-[?]
+^http
"""
SECTION_URLS = [
    f"http://{host}{path}"
    for host in ("example.com", "www.example.com", "www.example.org", "example.org", "b.net")
    for path in ("/", "/a.gif", "/private/", "/org/", "/?q", "/secret", "/xsecret")
]


def plugin(rules: str, **settings: object) -> RegexURLFilter:
    return RegexURLFilter(Config.of(settings, files={"regex-urlfilter.txt": rules}))


class TestShippedContract(URLFilterContract):
    plugin_class = RegexURLFilter


class TestSectionsContract(URLFilterContract):
    plugin_class = RegexURLFilter

    def config(self) -> Config:
        return Config.of({"urlfilter.regex.rules": SECTIONS})

    def samples(self) -> list[str]:
        return SECTION_URLS * 10


@pytest.mark.parametrize(
    ("url", "accepted"),
    [
        ("http://example.com/", True),
        ("https://example.com/a.html", True),
        ("ftp://example.com/", False),
        ("mailto:a@example.com", False),
        ("http://example.com/a.JPG", False),
        ("http://example.com/jpg", True),
        ("http://example.com/?q=1", False),
        ("http://example.com/a!", False),
        ("", False),
    ],
)
def test_the_shipped_rules(url: str, accepted: bool) -> None:
    assert (SHIPPED.rejection(url) is None) == accepted
    assert accepted_by_column(SHIPPED, [url]) == [accepted]


def test_the_first_rule_that_is_found_decides_and_is_named() -> None:
    rules = plugin("# comment\n\n-b\n+a\n-.")
    assert rules.rejection("xax") is None
    assert rules.rejection("ab") == "regex-urlfilter.txt:3: -b"
    assert rules.rejection("c") == "regex-urlfilter.txt:5: -."
    assert rules.rejection("") == "no rule accepts it"
    assert accepted_by_column(rules, ["xax", "ab", "c", ""]) == [*(True, False, False, False)]


@pytest.mark.parametrize(
    ("url", "rejected_by"),
    [
        ("http://www.example.com/a.gif", "2"),
        ("http://example.com/private/", "4"),
        ("http://www.example.com/private/", "4"),
        ("http://www.example.com/?q", None),
        ("http://example.com/?q", "11"),
        ("http://example.com/secret", "6"),
        ("http://example.com/xsecret", None),
        ("http://www.example.org/org/", "9"),
        ("http://example.org/org/", None),
        ("http://b.net/private/secret", None),
        ("http://b.net/?q", "11"),
    ],
)
def test_sections_are_for_a_host_or_domain(url: str, rejected_by: str | None) -> None:
    reason = plugin(SECTIONS).rejection(url)
    assert (reason and reason.split(":")[1]) == rejected_by


def test_sections_by_column() -> None:
    sections = plugin(SECTIONS)
    urls = SECTION_URLS * 20
    verdict = accepted_by_column(sections, urls)
    assert verdict == [
        None if verdict[row] is None else sections.rejection(url) is None
        for row, url in enumerate(urls)
    ]
    open_urls = {url for url, accepted in zip(urls, verdict, strict=True) if accepted is None}
    # look-behind is not for columns, so whatever gets as far as that rule is asked by row
    assert open_urls and all(url.startswith("http://example.com/") for url in open_urls)


def test_urls_with_queries_can_be_let_through_and_no_other_rule_goes_with_that() -> None:
    rules = "-[?*!@=]\n-\\?secret=\n-[?*!@=]x\n+."
    usual, with_queries = plugin(rules), plugin(rules, **{"urlfilter.regex.queries": True})
    assert usual.rejection("http://a.org/?q=1") is not None
    assert with_queries.rejection("http://a.org/?q=1") is None
    assert with_queries.rejection("http://a.org/?secret=1") is not None
    assert with_queries.rejection("http://a.org/?x") is not None


def test_urls_that_are_too_long_are_rejected_unmatched() -> None:
    short = plugin("+.", **{"urlfilter.regex.max.length": 3})
    assert short.rejection("aaaa") == "longer than 3 characters"
    assert accepted_by_column(short, ["aaa", "aaaa"]) == [True, False]


def test_what_the_engines_might_read_otherwise_is_asked_by_row() -> None:
    digits = plugin(r"+^\d+$")
    assert accepted_by_column(digits, ["1", "a", "٣", "1\n"]) == [*(True, False, None, None)]
    assert digits.rejection("٣") is None


def test_inline_rules_go_before_the_file() -> None:
    inline = RegexURLFilter(Config.of({"urlfilter.regex.rules": "+a\n-."}))
    assert inline.rejection("a") is None
    assert inline.rejection("b") == "urlfilter.regex.rules:2: -."


@pytest.mark.parametrize(
    ("rules", "complaint"),
    [
        ("+.\n\nhttp://a.com", r"^regex-urlfilter.txt:3: expected \+, -, >, < or #, got 'h'$"),
        ("-(", r"^regex-urlfilter.txt:1: '\(' is not a regular expression"),
        ("+a\n+", r"^regex-urlfilter.txt:2: a rule without an expression$"),
        (">", r"^regex-urlfilter.txt:1: `>` needs"),
        ("<", r"^regex-urlfilter.txt:1: `<` closes a section, but none is open$"),
    ],
)
def test_a_bad_line_is_reported_with_its_number(rules: str, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        plugin(rules)


def test_lines_that_begin_with_a_blank_are_comments_as_in_nutch() -> None:
    assert plugin(" -a\n\t-a\n+.\r\n").rejection("a") is None


@given(st.lists(encodable))
def test_the_column_agrees_with_the_row(urls: list[str]) -> None:
    for rules in (SHIPPED, plugin(SECTIONS)):
        verdict = accepted_by_column(rules, urls)
        for url, accepted in zip(urls, verdict, strict=True):
            assert accepted is None or accepted == (rules.rejection(url) is None)
            assert accepted is not None or not url.isascii() or "\n" in url or rules is not SHIPPED
