from __future__ import annotations

import pytest

from crawl.config import Config
from crawl.interfaces.urlnormalizer import Scope
from crawl.plugins.urlnormalizer.querystring import QuerystringURLNormalizer
from crawl.testing.urlnormalizer_contract import URLNormalizerContract


class TestContract(URLNormalizerContract):
    plugin_class = QuerystringURLNormalizer


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://a.com/?c=1&a=2&b", "http://a.com/?a=2&b&c=1"),
        ("http://a.com/?b=2&a=9&b=1", "http://a.com/?a=9&b=2&b=1"),
        ("http://a.com/?b&&a&#x?d&c", "http://a.com/?a&b#x?d&c"),
        ("http://a.com/b&a", "http://a.com/b&a"),
        ("http://a.com/?z", "http://a.com/?z"),
    ],
)
def test_parameters_by_name(url: str, expected: str) -> None:
    assert QuerystringURLNormalizer(Config.of()).normalize(url, Scope.DEFAULT) == expected
