"""What every URL filter must keep to; subclass it in your own tests:

class TestMine(URLFilterContract):
    plugin_class = MyFilter
"""

from __future__ import annotations

import pyarrow as pa

from crawl.interfaces.urlfilter import URLFilter
from crawl.testing.inputs.wicked_urls import storable
from crawl.testing.plugin_contract import URLPluginContract


class URLFilterContract(URLPluginContract[URLFilter]):
    """Tests for pytest; override `config` and `samples` to reach your plugin's own cases."""

    interface = "urlfilter"

    def test_any_text_is_accepted_or_rejected_with_a_reason(self) -> None:
        plugin = self.make()
        for url in self.urls():
            reason = plugin.rejection(url)
            assert reason is None or (isinstance(reason, str) and reason), url

    def test_same_question_same_answer(self) -> None:
        one, other = self.make(), self.make()
        for url in self.urls():
            expected = one.rejection(url)
            assert one.rejection(url) == expected == other.rejection(url), url

    def test_the_column_agrees_with_the_row(self) -> None:
        plugin = self.make()
        urls = storable(self.urls()) * 2
        for kind in (pa.string(), pa.large_string()):
            verdict = plugin.accepts_batch(pa.array(urls, kind))
            if verdict is None:
                continue
            assert verdict.type == pa.bool_() and len(verdict) == len(urls)
            for url, accepted in zip(urls, verdict.to_pylist(), strict=True):
                assert accepted is None or accepted == (plugin.rejection(url) is None), url

    def test_slices_nulls_and_empty_columns(self) -> None:
        plugin = self.make()
        column = pa.array(["http://b.com/a.gif", None, "http://a.com/", "x"], pa.string())
        for part in (column, column.slice(1, 2), column.slice(0, 0), column.slice(1, 1)):
            verdict = plugin.accepts_batch(part)
            assert verdict is None or len(verdict) == len(part)
            for url, accepted in zip(part.to_pylist(), (verdict or []), strict=False):
                if url is not None and accepted.is_valid:
                    assert accepted.as_py() == (plugin.rejection(url) is None)

    def test_an_executor_builds_the_same_plugin_from_its_name(self) -> None:
        here, there = self.make(), self.make_on_executor()
        for url in self.urls():
            assert there.rejection(url) == here.rejection(url), url
