from __future__ import annotations

from crawl.config import Config
from crawl.plugins.urlfilter.length import LengthURLFilter
from crawl.testing.urlfilter_contract import URLFilterContract
from tests.plugins.columns import accepted_by_column


class TestContract(URLFilterContract):
    plugin_class = LengthURLFilter


def test_characters_are_counted_not_bytes() -> None:
    plugin = LengthURLFilter(Config.of({"urlfilter.length.max": 10}))
    assert plugin.rejection("http://a.b") is None
    assert plugin.rejection("http://a.bc") == "longer than 10 characters"
    assert accepted_by_column(plugin, ["ü" * 10, "ü" * 11]) == [True, False]
