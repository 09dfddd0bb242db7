from __future__ import annotations

from typing import Any

import pytest

from crawl.config import Config
from crawl.errors import ConfigError
from crawl.plugins.urlfilter.fast import FastURLFilter
from crawl.testing.urlfilter_contract import URLFilterContract
from tests.plugins.columns import accepted_by_column

RULES = """
# by host, by domain, for all
Host www.example.com
  DenyPath ^/private/
  DenyPath \\.bak$
Domain example.org
  DenyPathQuery [?&]print=1
  DenyPath (?<=x)y
Host gone.example.net
  DenyPath .*
Domain .
  DenyPath /cgi-bin/
"""
URLS = [
    f"http://{host}{path}"
    for host in (
        *("www.example.com", "example.com", "example.org", "a.b.example.org"),
        *("gone.example.net", "other.net", "notexample.org"),
    )
    for path in ("/", "/private/", "/a/private/", "/x.bak", "/x.bak?q", "/?print=1", "/cgi-bin/x")
]


def config(rules: str = RULES, **settings: object) -> Config:
    return Config.of(settings, files={"fast-urlfilter.txt": rules})


class TestContract(URLFilterContract):
    plugin_class = FastURLFilter

    def config(self) -> Config:
        return config()

    def samples(self) -> list[str]:
        return URLS * 20


class TestLimitsContract(TestContract):
    def config(self) -> Config:
        limits = {"max": 60, "path.max": 30, "query.max": 20}
        settings: dict[str, Any] = {
            f"urlfilter.fast.url.{key}.length": limit for key, limit in limits.items()
        }
        return config(**settings)


@pytest.mark.parametrize(
    ("url", "line"),
    [
        ("http://www.example.com/private/x", 4),
        ("http://example.com/private/x", None),
        ("http://www.example.com/a/private/", None),
        ("http://www.example.com/x.bak?q", 5),
        ("http://www.example.com/?x.bak", None),
        ("http://a.b.example.org/?x&print=1", 7),
        ("http://example.org/print=1", None),
        ("http://example.org/xy", 8),
        ("http://notexample.org/?print=1", None),
        ("http://gone.example.net/", 10),
        ("http://other.net/cgi-bin/x", 12),
        ("nothing", None),
    ],
)
def test_rules(url: str, line: int | None) -> None:
    reason = FastURLFilter(config()).rejection(url)
    assert (
        (reason is None) if line is None else str(reason).startswith(f"fast-urlfilter.txt:{line}:")
    )


def test_comments_and_blanks_as_in_nutchs_sample() -> None:
    rules = "Domain  example.org\t# all hosts\n\tDenyPath\t(?i)%7c   # just the path\n"
    plugin = FastURLFilter(config(rules))
    assert plugin.rejection("http://www.example.org/a%7Cb") == "fast-urlfilter.txt:2: (?i)%7c"
    assert plugin.rejection("http://www.example.org/a?%7C") is None


def test_the_column_decides_by_host() -> None:
    plugin = FastURLFilter(config())
    urls = URLS * 20
    verdict = accepted_by_column(plugin, urls)
    for url, accepted in zip(urls, verdict, strict=True):
        by_row_only = "example.org" in url and "notexample" not in url  # a look-behind
        assert accepted == (None if by_row_only else plugin.rejection(url) is None)


def test_limits() -> None:
    plugin = FastURLFilter(
        config(
            "",
            **{
                "urlfilter.fast.url.max.length": 40,
                "urlfilter.fast.url.path.max.length": 10,
                "urlfilter.fast.url.query.max.length": 5,
            },
        )
    )
    assert plugin.rejection("http://a.com/123456789?12345") is None
    assert plugin.rejection("http://a.com/1234567890") == "its path is longer than 10 characters"
    assert plugin.rejection("http://a.com/?123456") == "its query is longer than 5 characters"
    assert plugin.rejection("http://a.com/#" + "x" * 40) == "longer than 40 characters"


@pytest.mark.parametrize(
    ("rules", "complaint"),
    [
        ("DenyPath x", r"^fast-urlfilter.txt:1: DenyPath must follow a Host or Domain line$"),
        ("Host a.com\n  Allow x", r"^fast-urlfilter.txt:2: expected Host, .* got 'Allow'$"),
        ("Host a.com\n  DenyPath [", r"^fast-urlfilter.txt:2: '\[' is not a regular expression"),
        ("Host a.com\n  DenyPath", r"^fast-urlfilter.txt:2: a rule without an expression$"),
        ("Host .", r"'.' is not a host"),
        ("Domain a/b", r"'a/b' is not a domain"),
        ("Domain", r"'' is not a domain"),
    ],
)
def test_bad_lines(rules: str, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        FastURLFilter(config(rules))


def test_the_shipped_file_accepts_all() -> None:
    assert all(FastURLFilter(Config.of()).rejection(url) is None for url in URLS)
