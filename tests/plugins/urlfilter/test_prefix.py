from __future__ import annotations

import pytest

from crawl.config import Config
from crawl.errors import ConfigError
from crawl.plugins.urlfilter.prefix import PrefixURLFilter
from crawl.testing.urlfilter_contract import URLFilterContract
from tests.plugins.columns import accepted_by_column


class TestContract(URLFilterContract):
    plugin_class = PrefixURLFilter

    def config(self) -> Config:
        return Config.of({"urlfilter.prefix.rules": "http://a.com/\nhttps://\nhttp://mü\n"})


def test_the_shipped_prefixes() -> None:
    plugin = PrefixURLFilter(Config.of())
    assert plugin.rejection("https://a.com/") is None
    assert plugin.rejection("mailto:a@b.com") == "begins as none of the prefixes"
    urls = ["ftp://a/", "gopher://a/", "", "http:/"]
    assert accepted_by_column(plugin, urls) == [True, False, False, False]


def test_a_list_without_prefixes_is_a_mistake() -> None:
    with pytest.raises(ConfigError, match="would reject every URL"):
        PrefixURLFilter(Config.of(files={"prefix-urlfilter.txt": "# none\n"}))
