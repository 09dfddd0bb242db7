from __future__ import annotations

from crawl.config import Config
from crawl.interfaces.urlnormalizer import Scope
from crawl.plugins.urlnormalizer.passthrough import PassURLNormalizer
from crawl.testing.inputs.wicked_urls import WICKED
from crawl.testing.urlnormalizer_contract import URLNormalizerContract
from tests.plugins.columns import left_alone_by_column


class TestContract(URLNormalizerContract):
    plugin_class = PassURLNormalizer


def test_everything_stays() -> None:
    plugin = PassURLNormalizer(Config.of())
    assert all(plugin.normalize(url, Scope.DEFAULT) == url for url in WICKED)
    assert left_alone_by_column(plugin, ["x", ""]) == [True, True]
