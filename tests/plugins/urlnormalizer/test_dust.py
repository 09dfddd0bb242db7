from __future__ import annotations

import pytest

from crawl.config import Config
from crawl.errors import ConfigError
from crawl.interfaces.urlnormalizer import Scope
from crawl.plugins.urlnormalizer.dust import RULES, DustURLNormalizer
from crawl.testing.urlnormalizer_contract import URLNormalizerContract

LINES = """
a.test param visit   # 12 contents
a.test path-param jsid
a.test index index.html
a.test slash -
b.test slash +
b.test case lower
example.com param a
example.com slash -
"""


def made(lines: str) -> DustURLNormalizer:
    return DustURLNormalizer(Config.of({RULES.name: lines}))


class TestDust(URLNormalizerContract):
    plugin_class = DustURLNormalizer

    def config(self) -> Config:
        return Config.of({RULES.name: LINES})

    def samples(self) -> list[str]:
        return [
            "http://a.test/a;x=1/index.html",
            "http://a.test/index.html/",
            "http://a.test/a/;jsid=1?visit=2&&visit",
            "http://b.test/A%2fB/C.D/",
        ]


@pytest.mark.parametrize(
    ("url", "normal"),
    [
        ("http://a.test/p?visit=1", "http://a.test/p"),
        ("http://a.test/p?x=1&visit=1&y=2", "http://a.test/p?x=1&y=2"),
        ("http://a.test/p;jsid=1?x", "http://a.test/p?x"),
        ("http://a.test/p;other=1;jsid=1", "http://a.test/p;other=1"),
        ("http://a.test/d/index.html", "http://a.test/d"),
        ("http://a.test/index.html", "http://a.test/"),
        ("http://a.test/v1.2/", "http://a.test/v1.2/"),
        ("http://b.test/Dir", "http://b.test/dir/"),
        ("http://b.test/File.TXT", "http://b.test/file.txt"),
        ("http://b.test/A%2FB", "http://b.test/a%2Fb/"),
        ("http://c.test/p?visit=1", "http://c.test/p?visit=1"),
    ],
)
def test_what_is_taken_away(url: str, normal: str) -> None:
    assert made(LINES).normalize(url, Scope.DEFAULT) == normal


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("a.test param", "expected a host, a kind and a name"),
        ("a.test param x y", "expected a host, a kind and a name"),
        ("a/b param x", "is not a host"),
        ("a.test parm x", "expected one of param, path-param"),
        ("a.test slash x", "'x' is no name for slash"),
        ("a.test index a.b", "'a.b' is no name for index"),
        ("a.test param a&b", "'a&b' is no name for param"),
    ],
)
def test_a_bad_rule_is_named(line: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=f"urlnormalizer.dust.rules:1: .*{problem}"):
        made(line)
