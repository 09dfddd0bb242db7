from __future__ import annotations

import pytest

from crawl.config import Config
from crawl.errors import ConfigError
from crawl.plugins.urlfilter.suffix import SuffixURLFilter
from crawl.testing.urlfilter_contract import URLFilterContract

URLS = [
    "http://a.com/x.gif",
    "http://a.com/x.GIF",
    "http://a.com/x.gif?q=1",
    "http://a.com/x?q=.gif",
    "http://a.gif",
    "http://a.com/",
    ".gif",
]


def plugin(rules: str) -> SuffixURLFilter:
    return SuffixURLFilter(Config.of({"urlfilter.suffix.rules": rules}))


class TestShippedContract(URLFilterContract):
    plugin_class = SuffixURLFilter

    def samples(self) -> list[str]:
        return URLS


class TestAcceptingContract(TestShippedContract):
    def config(self) -> Config:
        return Config.of({"urlfilter.suffix.rules": "-\n.gif\n/\nü"})


class TestIgnoringCaseContract(TestShippedContract):
    def config(self) -> Config:
        return Config.of({"urlfilter.suffix.rules": "+I\n.GIF\nK\nß"})


@pytest.mark.parametrize(
    ("rules", "rejected"),
    [
        ("+\n.gif", [0, 3, 4, 6]),
        (".gif", [0, 3, 4, 6]),
        ("-\n.gif", [1, 2, 5]),
        ("+I\n.gif", [0, 1, 3, 4, 6]),
        ("+P\n.gif", [0, 2, 6]),
        ("+IP\n.GIF", [0, 1, 2, 6]),
        ("+I\n+P\n.gif", [0, 1, 2, 6]),
        ("+", []),
        ("-", [0, 1, 2, 3, 4, 5, 6]),
    ],
)
def test_modes_and_flags(rules: str, rejected: list[int]) -> None:
    found = [row for row, url in enumerate(URLS) if plugin(rules).rejection(url) is not None]
    assert found == rejected


def test_reasons() -> None:
    assert plugin("+I\n.gif").rejection("http://a.com/x.GIF") == "ends in .gif"
    assert plugin("-\n.gif").rejection("http://a.com/") == "ends as none of the suffixes"


def test_an_unknown_flag() -> None:
    with pytest.raises(ConfigError, match=r"^urlfilter.suffix.rules:1: expected \+ or - with"):
        plugin("+X")
