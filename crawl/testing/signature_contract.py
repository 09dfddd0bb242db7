"""What every signature must keep to; subclass it in your own tests:

class TestMine(SignatureContract):
    plugin_class = MySignature
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

from crawl.interfaces.signature import Signature
from crawl.model.content import Content
from crawl.model.parse import Parse
from crawl.testing.plugin_contract import PluginContract

_URL = "http://example.org/"
_TEXTS = (
    "",
    "one",
    "a b c",
    "the quick brown fox jumps over the lazy dog " * 20,
    "Ünïcödé 漢字 текст 𝒳 " * 7,
    "\ud800 half a character",
    "\x00\x01\x02",
    "word " * 20_000,
)


class SignatureContract(PluginContract[Signature]):
    """Tests for pytest; override `config` to reach your plugin's own cases."""

    interface = "signature"

    def pages(self) -> Iterator[tuple[Content, Parse | None]]:
        for text in _TEXTS:
            body = text.encode("utf-8", "replace")
            yield Content(_URL, body), Parse(_URL, text=text)
            yield Content(_URL, body), None
        yield Content("", b""), Parse("")
        yield Content("http://ex\ud800ample/", b""), None

    def test_a_digest_of_any_page_is_short_and_not_empty(self) -> None:
        plugin = self.make()
        for content, parse in self.pages():
            digest = plugin.calculate(content, parse)
            assert isinstance(digest, bytes) and 1 <= len(digest) <= 256

    def test_the_same_page_has_the_same_digest(self) -> None:
        here, again, there = self.make(), self.make(), self.make_on_executor()
        for content, parse in self.pages():
            digest = here.calculate(content, parse)
            assert digest == again.calculate(content, parse) == there.calculate(content, parse)

    def test_other_pages_have_other_digests(self) -> None:
        plugin = self.make()
        texts = [f"{word} stands here alone and for itself" for word in ("alpha", "beta", "gamma")]
        digests = {
            plugin.calculate(Content(_URL, text.encode()), Parse(_URL, text=text * 5))
            for text in texts
        }
        assert len(digests) == len(texts)

    def test_another_process_comes_to_the_same_digest(self) -> None:
        text = "the quick brown fox jumps over the lazy dog " * 3
        module, name = self.plugin_class.__module__, self.plugin_class.__qualname__
        code = (
            "import importlib; from crawl.config import Config;"
            " from crawl.model.content import Content; from crawl.model.parse import Parse;"
            f" plugin = importlib.import_module({module!r}).{name}(Config.of());"
            f" print(plugin.calculate(Content({_URL!r}, {text.encode()!r}),"
            f" Parse({_URL!r}, text={text!r})).hex())"
        )
        environment = {**os.environ, "PYTHONHASHSEED": "12345", "PYTHONPATH": ":".join(sys.path)}
        completed = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, check=True
        )
        plugin = self.plugin_class(type(self.config()).of())
        here = plugin.calculate(Content(_URL, text.encode()), Parse(_URL, text=text))
        assert completed.stdout.decode().strip() == here.hex()
