from __future__ import annotations

import pytest

from crawl.config import Config
from crawl.interfaces.urlnormalizer import Scope
from crawl.plugins.urlnormalizer.ajax import AjaxURLNormalizer
from crawl.testing.urlnormalizer_contract import URLNormalizerContract

AJAX = AjaxURLNormalizer(Config.of())
PAIRS = [
    ("http://a.com/x#!key=v&l=2", "http://a.com/x?_escaped_fragment_=key=v%26l=2"),
    ("http://a.com/?q=1#!s", "http://a.com/?q=1&_escaped_fragment_=s"),
    ("http://a.com/#!", "http://a.com/?_escaped_fragment_="),
    ("http://a.com/#!ü +%#", "http://a.com/?_escaped_fragment_=%C3%BC%20%2B%25%23"),
]


class TestContract(URLNormalizerContract):
    plugin_class = AjaxURLNormalizer

    def samples(self) -> list[str]:
        return [url for pair in PAIRS for url in pair]


@pytest.mark.parametrize(("fragment", "parameter"), PAIRS)
def test_forward_everywhere_and_backward_for_the_index(fragment: str, parameter: str) -> None:
    for scope in Scope:
        if scope is Scope.INDEXER:
            assert AJAX.normalize(parameter, scope) == fragment
            assert AJAX.normalize(fragment, scope) == fragment
        else:
            assert AJAX.normalize(fragment, scope) == parameter
            assert AJAX.normalize(parameter, scope) == parameter


def test_other_parameters_stay() -> None:
    url = "http://a.com/?_escaped_fragment_=s&q=1"
    assert AJAX.normalize(url, Scope.INDEXER) == "http://a.com/?q=1#!s"


def test_other_fragments_stay() -> None:
    assert AJAX.normalize("http://a.com/#top", Scope.DEFAULT) == "http://a.com/#top"
    assert AJAX.normalize("http://a.com/#a#!b", Scope.DEFAULT) == "http://a.com/#a#!b"
