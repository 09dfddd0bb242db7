from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.config import Config
from crawl.plugins.urlfilter.validator import ValidatorURLFilter
from crawl.testing.urlfilter_contract import URLFilterContract
from tests.plugins.columns import accepted_by_column
from tests.urls.texts import encodable

VALIDATOR = ValidatorURLFilter(Config.of())
LONG_NAME = ".".join(["a" * 49] * 6)

SOUND = [
    "http://example.com",
    "https://www.example.co.uk:8443/a/b.html?q=%C3%BC#top",
    "http://user:pw@example.com/",
    "http://example.com?q",
    "ftp://example.museum./x",
    "http://xn--mller-kva.xn--fiqs8s/",
    "http://192.0.2.1/",
    "http://[2001:db8::1]:80/",
    "http://a_b.example.com/~x/;y=1,2/(z)!*'@:",
]
UNSOUND = {
    "http://localhost/": "not a public host",
    "http://example.c/": "not a public host",
    "http://example.123/": "not a public host",
    "http://-a.com/": "not a public host",
    "http://a..com/": "not a public host",
    "http://" + "a" * 64 + ".com/": "not a public host",
    "http://256.1.1.1/": "not a public host",
    "http://example.com:123456/": "not a public host",
    "http:///x": "not a public host",
    "http://example.com/a b": "a character or escape that is not allowed",
    "http://example.com/%zz": "a character or escape that is not allowed",
    "http://example.com/ü": "a character or escape that is not allowed",
    "http://example.com/a#b#c": "a character or escape that is not allowed",
    "http://example.com/\n": "a newline in it",
    "file:///x": "not http, https or ftp",
    "example.com": "not http, https or ftp",
    f"http://{LONG_NAME}.com/": "a host name that is too long",
}


class TestContract(URLFilterContract):
    plugin_class = ValidatorURLFilter

    def samples(self) -> list[str]:
        return [*SOUND, *UNSOUND]


@pytest.mark.parametrize("url", SOUND)
def test_sound(url: str) -> None:
    assert VALIDATOR.rejection(url) is None
    assert accepted_by_column(VALIDATOR, [url]) == [True]


@pytest.mark.parametrize(("url", "reason"), UNSOUND.items())
def test_unsound(url: str, reason: str) -> None:
    assert VALIDATOR.rejection(url) == reason
    assert accepted_by_column(VALIDATOR, [url]) in ([False], [None])


@given(st.lists(encodable))
def test_the_column_agrees_with_the_row(urls: list[str]) -> None:
    verdict = accepted_by_column(VALIDATOR, urls)
    for url, accepted in zip(urls, verdict, strict=True):
        assert accepted is None or accepted == (VALIDATOR.rejection(url) is None)
