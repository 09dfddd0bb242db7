from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.config import Config
from crawl.interfaces.urlnormalizer import Scope
from crawl.plugins.urlnormalizer.basic import BasicURLNormalizer
from crawl.testing.urlnormalizer_contract import URLNormalizerContract
from tests.plugins.columns import left_alone_by_column
from tests.urls.texts import encodable, texts

BASIC = BasicURLNormalizer(Config.of())
TRIMMING = BasicURLNormalizer(Config.of({"urlnormalizer.basic.host.trim-trailing-dot": True}))

AS_NUTCH = {
    "http://foo.com/%66oo.htm%c0": "http://foo.com/foo.htm%C0",
    "http://x.com/?x[y]=1": "http://x.com/?x%5By%5D=1",
    "http://foo.com/aa/../../foo.html": "http://foo.com/foo.html",
    "http://foo.com////aa////bb////foo.html": "http://foo.com/aa/bb/foo.html",
    "http://example.com?a=1": "http://example.com/?a=1",
    "http://www.example.com/p%zz%77%v": "http://www.example.com/p%25zzw%25v",
    "https://john.doe@www.example.com:1234/f?x#top": "https://www.example.com:1234/f?x",
    "  http://foo.com/  ": "http://foo.com/",
    "http://foo.com:80/index.html": "http://foo.com/index.html",
    "http://foo.com:/index.html": "http://foo.com/index.html",
    "http://foo.com:81/": "http://foo.com:81/",
    "http://[2001:DB8::0:1]:80/": "http://[2001:db8::1]/",
    "http://under_score.foo.com/": "http://under_score.foo.com/",
    "ftp://user:pw@foo.com/x": "ftp://user:pw@foo.com/x",
    "http://Foo.Com/Index.Html": "http://foo.com/Index.Html",
    "http://foo.com/a+b&c:d,e;f=g@h!i$j(k)l*m": "http://foo.com/a+b&c:d,e;f=g@h!i$j(k)l*m",
    'http://foo.com/ "<>^`{|}\x7f': "http://foo.com/%20%22%3C%3E%5E%60%7B%7C%7D%7F",
    "http://foo.com/ü": "http://foo.com/%C3%BC",
}

DIVERGENCES = {
    # text: (ours, why it is not Nutch's)
    "http:////": (None, "there is no host in it; Nutch leaves `http:/`"),
    "": (None, "no URL; Nutch leaves it as it is"),
    "http://foo.com/?q='x'": ("http://foo.com/?q=%27x%27", "browsers escape ' in queries"),
    "http://müller.de/": ("http://xn--mller-kva.de/", "hosts are in ASCII, always; see IDNA"),
    "http://foo.com\\bar": ("http://foo.com/bar", "browsers read a backslash as a slash"),
    "http://foo.com/a//../b": ("http://foo.com/a/b", "`..` takes back the empty segment only"),
    "http://foo.com/a%2e%2E/%2e%2e/b": ("http://foo.com/b", "escaped dots are dots"),
    "file:/x": ("file:///x", "the standard's spelling of an empty host"),
    "http://foo.com/a\tb\nc": ("http://foo.com/abc", "tabs and newlines are dropped"),
    "http://0x7f.1/": ("http://127.0.0.1/", "that is what it means to a browser"),
    "http://{host}/": (None, "no such name can exist: it is a template nobody filled in"),
    "http://a&b.com/": (None, "no such name can exist"),
    "foo://x.com/": (None, "only http, https, ftp and file can be fetched"),
    "mailto:a@b.com": (None, "not a page"),
    "javascript:void(0)": (None, "not a page"),
    "data:text/html,x": (None, "not a page"),
    "www.foo.com": (None, "no scheme"),
}


def normalize(url: str) -> str | None:
    return BASIC.normalize(url, Scope.DEFAULT)


class TestContract(URLNormalizerContract):
    plugin_class = BasicURLNormalizer

    def samples(self) -> list[str]:
        return [*AS_NUTCH, *DIVERGENCES]


class TestTrimmingContract(TestContract):
    def config(self) -> Config:
        return Config.of({"urlnormalizer.basic.host.trim-trailing-dot": True})


@pytest.mark.parametrize(("text", "expected"), AS_NUTCH.items())
def test_as_nutch(text: str, expected: str) -> None:
    assert normalize(text) == expected


@pytest.mark.parametrize(
    ("text", "ours"), [(text, ours) for text, (ours, _) in DIVERGENCES.items()]
)
def test_known_divergences(text: str, ours: str | None) -> None:
    assert normalize(text) == ours


def test_trailing_dots() -> None:
    assert normalize("http://foo.com./") == "http://foo.com./"
    assert TRIMMING.normalize("http://foo.com./x", Scope.DEFAULT) == "http://foo.com/x"
    assert TRIMMING.normalize("http://foo.0x../", Scope.DEFAULT) == "http://foo.0x../"


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/",
        "https://www.example.co.uk/a/b.html",
        "http://example.com:8080/a/?q=1&r=%20",
        "http://example.com:49152/a",
        "http://10.0.0.1/x",
        "http://a-b.x_y.xn.com/.well-known/a..b/%C3%BC",
        "http://x.xn-.x-.xna.com/",
    ],
)
def test_the_column_knows_normal_urls(url: str) -> None:
    assert normalize(url) == url
    assert left_alone_by_column(BASIC, [url]) == [True]


@given(texts)
def test_idempotent_and_plain(text: str) -> None:
    for plugin in (BASIC, TRIMMING):
        once = plugin.normalize(text, Scope.DEFAULT)
        if once is not None:
            assert once.isascii() and once.isprintable() and " " not in once
            assert plugin.normalize(once, Scope.DEFAULT) == once


@given(st.lists(encodable))
def test_what_the_column_leaves_alone(urls: list[str]) -> None:
    urls += [normal for url in urls if (normal := normalize(url)) is not None]
    alone = left_alone_by_column(BASIC, urls)
    for url, is_alone in zip(urls, alone, strict=True):
        assert not is_alone or url == normalize(url) == TRIMMING.normalize(url, Scope.DEFAULT)
