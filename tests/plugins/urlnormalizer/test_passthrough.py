from __future__ import annotations

import pyarrow as pa

from crawl.config import Config
from crawl.interfaces.urlnormalizer import Scope
from crawl.plugins.urlnormalizer.passthrough import PassURLNormalizer
from crawl.testing.inputs.wicked_urls import WICKED
from crawl.testing.urlnormalizer_contract import URLNormalizerContract


class TestContract(URLNormalizerContract):
    plugin_class = PassURLNormalizer


def test_everything_stays() -> None:
    plugin = PassURLNormalizer(Config.of())
    assert all(plugin.normalize(url, Scope.DEFAULT) == url for url in WICKED)
    assert plugin.leaves_alone(pa.array(["x", ""]), Scope.DEFAULT).to_pylist() == [True, True]
