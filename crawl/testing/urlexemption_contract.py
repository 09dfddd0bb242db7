"""What every URL exemption must keep to; subclass it in your own tests:

class TestMine(URLExemptionContract):
    plugin_class = MyExemption
"""

from __future__ import annotations

from crawl.interfaces.urlexemption import URLExemption
from crawl.testing.plugin_contract import URLPluginContract


class URLExemptionContract(URLPluginContract[URLExemption]):
    """Tests for pytest; override `config` and `samples` to reach your plugin's own cases."""

    interface = "urlexemption"

    def pairs(self) -> list[tuple[str, str]]:
        urls = self.urls()
        return [*zip(urls, reversed(urls), strict=True), *((url, url) for url in urls)]

    def test_any_text_has_an_answer(self) -> None:
        plugin = self.make()
        for source, target in self.pairs():
            assert plugin.exempts(source, target) in (True, False)

    def test_same_question_same_answer(self) -> None:
        here, again, there = self.make(), self.make(), self.make_on_executor()
        for source, target in self.pairs():
            answer = here.exempts(source, target)
            assert answer == again.exempts(source, target) == there.exempts(source, target)
