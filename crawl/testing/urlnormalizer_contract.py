"""What every URL normalizer must keep to; subclass it in your own tests:

class TestMine(URLNormalizerContract):
    plugin_class = MyNormalizer
"""

from __future__ import annotations

import pyarrow as pa

from crawl.interfaces.urlnormalizer import Scope, URLNormalizer
from crawl.testing.inputs.wicked_urls import storable
from crawl.testing.plugin_contract import URLPluginContract


class URLNormalizerContract(URLPluginContract[URLNormalizer]):
    """Tests for pytest; override `config` and `samples` to reach your plugin's own cases."""

    interface = "urlnormalizer"

    def test_any_text_is_answered_by_a_text_or_none(self) -> None:
        plugin = self.make()
        for scope in Scope:
            for url in self.urls():
                normal = plugin.normalize(url, scope)
                assert normal is None or isinstance(normal, str), (scope, url)

    def test_normal_form_is_idempotent(self) -> None:
        plugin = self.make()
        for scope in Scope:
            for url in self.urls():
                once = plugin.normalize(url, scope)
                if once is not None:
                    assert plugin.normalize(once, scope) == once, (scope, url)

    def test_same_question_same_answer(self) -> None:
        one, other = self.make(), self.make()
        for url in self.urls():
            expected = one.normalize(url, Scope.DEFAULT)
            assert one.normalize(url, Scope.DEFAULT) == expected, url
            assert other.normalize(url, Scope.DEFAULT) == expected, url

    def test_what_a_column_leaves_alone_the_row_leaves_alone(self) -> None:
        plugin = self.make()
        for scope in Scope:
            urls = storable(self.urls())
            normal = [plugin.normalize(url, scope) for url in urls]
            urls += storable([url for url in normal if url is not None])
            for kind in (pa.string(), pa.large_string()):
                alone = plugin.leaves_alone(pa.array(urls, kind), scope)
                if alone is None:
                    continue
                assert alone.type == pa.bool_() and len(alone) == len(urls)
                for url, is_alone in zip(urls, alone.to_pylist(), strict=True):
                    assert not is_alone or plugin.normalize(url, scope) == url, (scope, url)

    def test_slices_nulls_and_empty_columns(self) -> None:
        plugin = self.make()
        column = pa.array(["http://b.com/A?b&a#!x", None, "http://a.com/", "x"], pa.string())
        for part in (column, column.slice(1, 2), column.slice(0, 0), column.slice(1, 1)):
            alone = plugin.leaves_alone(part, Scope.DEFAULT)
            assert alone is None or len(alone) == len(part)
            for url, is_alone in zip(part.to_pylist(), (alone or []), strict=False):
                if url is not None and is_alone.as_py():
                    assert plugin.normalize(url, Scope.DEFAULT) == url

    def test_an_executor_builds_the_same_plugin_from_its_name(self) -> None:
        here, there = self.make(), self.make_on_executor()
        for url in self.urls():
            expected = here.normalize(url, Scope.DEFAULT)
            assert there.normalize(url, Scope.DEFAULT) == expected, url
