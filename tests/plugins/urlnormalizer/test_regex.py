from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.config import Config
from crawl.errors import ConfigError
from crawl.interfaces.urlnormalizer import Scope
from crawl.plugins.urlnormalizer.regex import RegexURLNormalizer
from crawl.testing.urlnormalizer_contract import URLNormalizerContract
from tests.plugins.columns import left_alone_by_column
from tests.urls.texts import encodable, texts

SHIPPED = RegexURLNormalizer(Config.of())


def rules(*each: tuple[str, str]) -> str:
    body = "".join(
        f"<regex><pattern>{pattern}</pattern><substitution>{with_}</substitution></regex>"
        for pattern, with_ in each
    )
    return f"<regex-normalize>{body}</regex-normalize>"


def plugin(text: str, **settings: object) -> RegexURLNormalizer:
    return RegexURLNormalizer(Config.of(settings, files={"regex-normalize.xml": text}))


class TestContract(URLNormalizerContract):
    plugin_class = RegexURLNormalizer


class TestContractWithRulesThatNeverSettle(URLNormalizerContract):
    plugin_class = RegexURLNormalizer

    def config(self) -> Config:
        circle = rules(("a", "aa"), ("(?&lt;=b)b", "bb"), ("x$", ""))
        settings = {"urlnormalizer.regex.max.length": 200}
        return Config.of(settings, files={"regex-normalize.xml": circle})


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://a.com/x;jsessionid=12?q=1", "http://a.com/x?q=1"),
        ("http://a.com/?PHPSESSID=12&q=1", "http://a.com/?q=1"),
        ("http://a.com/?q=1&sid=a&sessionid=b", "http://a.com/?q=1"),
        ("http://a.com/?q=1&bv_sid=a&r=2", "http://a.com/?q=1&r=2"),
        ("http://a.com/?outside=1", "http://a.com/?outside=1"),
        ("http://sid=1.com/x", "http://sid=1.com/x"),
        ("http://a.com/#top", "http://a.com/"),
        ("http://a.com/?&&a=1&&&b=2&", "http://a.com/?a=1&b=2"),
        ("http://a.com/x?", "http://a.com/x"),
        ("http://a.com/x.", "http://a.com/x"),
        ("http://a.com//x///y", "http://a.com/x/y"),
        ("file:///x", "file:///x"),
        ("http://a.com/?u=http://b.com/", "http://a.com/?u=http://b.com/"),
    ],
)
def test_the_shipped_rules(url: str, expected: str) -> None:
    assert SHIPPED.normalize(url, Scope.DEFAULT) == expected


INDEX_PAGES = rules(
    (
        r"/((?i)index|default)\.((?i)js[pf]{1}?[afx]?|cgi|cfm|asp[x]?|[psx]?htm[l]?|php[3456]?)"
        r"(\?|&amp;|#|$)",
        "/$3",
    )
)
"""A rule of Nutch's own sample file."""


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://a.com/index.html", "http://a.com/"),
        ("http://a.com/INDEX.HTML", "http://a.com/"),
        ("http://a.com/x/Default.AspX?q=1", "http://a.com/x/?q=1"),
        ("http://a.com/index.PHP4#top", "http://a.com/#top"),
        ("http://a.com/index.jspa", "http://a.com/"),
        ("http://a.com/index.jsps", "http://a.com/index.jsps"),
        ("http://a.com/reindex.html", "http://a.com/reindex.html"),
    ],
)
def test_flags_inside_a_pattern_of_nutchs_sample_files_are_understood(
    url: str, expected: str
) -> None:
    normalizer = plugin(INDEX_PAGES)
    assert normalizer.normalize(url, Scope.DEFAULT) == expected
    assert left_alone_by_column(normalizer, [url]) == [url == expected]


def test_a_scope_may_have_a_file_of_its_own() -> None:
    config = Config.of(
        {"urlnormalizer.regex.file.inject": "seeds.xml"},
        files={"regex-normalize.xml": rules(("a", "b")), "seeds.xml": rules(("a", "c"))},
    )
    scoped = RegexURLNormalizer(config)
    assert scoped.normalize("a", Scope.DEFAULT) == scoped.normalize("a", Scope.FETCHER) == "b"
    assert scoped.normalize("a", Scope.INJECT) == "c"
    assert left_alone_by_column(scoped, ["b", "c", "a"], Scope.INJECT) == [True, True, False]


def test_rules_that_never_settle_leave_the_url_alone() -> None:
    assert plugin(rules(("a", "aa"))).normalize("xa", Scope.DEFAULT) == "xa"
    assert plugin(rules(("^a", "b"), ("^b", "a"), ("$", "."))).normalize("a", Scope.DEFAULT) == "a"


def test_urls_that_are_too_long_are_not_matched() -> None:
    short = plugin(rules(("a", "b")), **{"urlnormalizer.regex.max.length": 3})
    assert short.normalize("aaa", Scope.DEFAULT) == "bbb"
    assert short.normalize("aaaa", Scope.DEFAULT) == "aaaa"


def test_a_rule_that_re2_lacks_is_asked_by_row() -> None:
    look_behind = plugin(rules(("(?&lt;!:)/{2,}", "/")))
    assert look_behind.leaves_alone(pa.array(["x"]), Scope.DEFAULT) is None
    assert look_behind.normalize("http:a//b", Scope.DEFAULT) == "http:a/b"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("<regex-normalize>\n<regex>", r"^regex-normalize.xml:2: not well-formed XML"),
        ("", r"^regex-normalize.xml:1: not well-formed XML: no element found"),
        ("<x/>", r"^regex-normalize.xml:1: <x> does not belong here"),
        ("<regex-normalize>\n<regex/></regex-normalize>", r":2: a <regex> without a <pattern>"),
        (rules(("(", "")), r":1: '\(' is not a regular expression"),
        (rules(("a", "$1")), r":1: the pattern has no group 1"),
        (rules(("a", "${x}")), r":1: the pattern has no group 'x'"),
        (rules(("a", "x$")), r"'\$' must be followed"),
        (rules(("", "x")), r"a rule without an expression"),
        ("<regex-normalize>x</regex-normalize>", r"text outside of"),
        (
            '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>\n<regex-normalize/>',
            r":1: a document type \(and so any entity\) is not allowed",
        ),
        (
            "<regex-normalize><regex><pattern>a</pattern><pattern>b</pattern></regex>"
            "</regex-normalize>",
            r"a second <pattern>",
        ),
    ],
)
def test_a_bad_file_is_reported_with_its_line(text: str, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        plugin(text)


@given(texts)
def test_the_shipped_rules_are_idempotent(text: str) -> None:
    once = SHIPPED.normalize(text, Scope.DEFAULT)
    assert once is not None and SHIPPED.normalize(once, Scope.DEFAULT) == once


@given(st.lists(encodable))
def test_what_the_column_leaves_alone(urls: list[str]) -> None:
    alone = left_alone_by_column(SHIPPED, urls)
    for url, is_alone in zip(urls, alone, strict=True):
        assert not is_alone or SHIPPED.normalize(url, Scope.DEFAULT) == url
