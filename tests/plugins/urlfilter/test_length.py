from __future__ import annotations

import pyarrow as pa

from crawl.config import Config
from crawl.plugins.urlfilter.length import LengthURLFilter
from crawl.testing.urlfilter_contract import URLFilterContract


class TestContract(URLFilterContract):
    plugin_class = LengthURLFilter


def test_characters_are_counted_not_bytes() -> None:
    plugin = LengthURLFilter(Config.of({"urlfilter.length.max": 10}))
    assert plugin.rejection("http://a.b") is None
    assert plugin.rejection("http://a.bc") == "longer than 10 characters"
    column = pa.array(["ü" * 10, "ü" * 11])
    assert plugin.accepts_batch(column).to_pylist() == [True, False]
