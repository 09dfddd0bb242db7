"""The normalizers host, protocol and slash, which share the form of their rules."""

from __future__ import annotations

from typing import Any

import pytest

from crawl.config import Config
from crawl.errors import ConfigError
from crawl.interfaces.urlnormalizer import Scope
from crawl.plugins.urlnormalizer.host import HostURLNormalizer
from crawl.plugins.urlnormalizer.protocol import ProtocolURLNormalizer
from crawl.plugins.urlnormalizer.slash import SlashURLNormalizer
from crawl.testing.urlnormalizer_contract import URLNormalizerContract
from tests.plugins.columns import left_alone_by_column

HOSTS = """
# comment
www.example.com   example.com
*.example.org     www.example.org
special.example.org  other.net
müller.de  mueller.de
a.circle.net b.circle.net
b.circle.net a.circle.net
one.net two.net
two.net three.net
"""
PROTOCOLS = "www.example.com https\n*.example.org http\nexample.net HTTPS://\n"
SLASHES = "www.example.com +\n*.example.org -\n"
URLS = [
    f"{scheme}://{host}{port}{path}"
    for scheme in ("http", "https", "HTTP")
    for host in ("www.example.com", "a.b.example.org", "special.example.org", "a.circle.net")
    for port in ("", ":8080")
    for path in ("", "/x", "/x/", "/x.html", "/x//?q#f", "/a/b/?c=/")
]


def config(key: str, text: str) -> Config:
    return Config.of({f"urlnormalizer.{key}.rules": text})


class ByHostContract(URLNormalizerContract):
    def samples(self) -> list[str]:
        return URLS


class TestHostContract(ByHostContract):
    plugin_class = HostURLNormalizer

    def config(self) -> Config:
        return config("hosts", HOSTS)


class TestProtocolContract(ByHostContract):
    plugin_class = ProtocolURLNormalizer

    def config(self) -> Config:
        return config("protocols", PROTOCOLS)


class TestSlashContract(ByHostContract):
    plugin_class = SlashURLNormalizer

    def config(self) -> Config:
        return config("slashes", SLASHES)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://www.example.com:8080/x?q#f", "http://example.com:8080/x?q#f"),
        ("http://WWW.EXAMPLE.COM/", "http://example.com/"),
        ("http://deep.down.example.org/", "http://www.example.org/"),
        ("http://www.example.org/", "http://www.example.org/"),
        ("http://example.org/", "http://example.org/"),
        ("http://special.example.org/", "http://other.net/"),
        ("http://xn--mller-kva.de/", "http://mueller.de/"),
        ("http://a.circle.net/", "http://a.circle.net/"),
        ("http://one.net/", "http://three.net/"),
        ("nothing", "nothing"),
    ],
)
def test_hosts(url: str, expected: str) -> None:
    assert HostURLNormalizer(config("hosts", HOSTS)).normalize(url, Scope.DEFAULT) == expected


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://www.example.com/x", "https://www.example.com/x"),
        ("https://a.example.org/x", "http://a.example.org/x"),
        ("http://example.net/", "https://example.net/"),
        ("http://www.example.com:8080/x", "http://www.example.com:8080/x"),
        ("ftp://www.example.com/x", "ftp://www.example.com/x"),
        ("http://elsewhere.com/", "http://elsewhere.com/"),
        ("https://notexample.org/", "https://notexample.org/"),
    ],
)
def test_protocols(url: str, expected: str) -> None:
    plugin = ProtocolURLNormalizer(config("protocols", PROTOCOLS))
    assert plugin.normalize(url, Scope.DEFAULT) == expected


@pytest.mark.parametrize("rules", ["*.example.com https", "*.example.com\thttps\n*.com http"])
def test_a_wildcard_in_protocols_txt_matches_the_domain_too(rules: str) -> None:
    plugin = ProtocolURLNormalizer(config("protocols", rules))
    for host in ("example.com", "www.example.com", "a.b.example.com"):
        assert plugin.normalize(f"http://{host}/", Scope.DEFAULT) == f"https://{host}/"
    assert left_alone_by_column(plugin, ["http://example.com/", "http://a.org/"]) == [False, True]


def test_a_line_of_its_own_comes_before_a_wildcard() -> None:
    for rules in ("*.example.com https\nexample.com http", "example.com http\n*.example.com https"):
        plugin = ProtocolURLNormalizer(config("protocols", rules))
        assert plugin.normalize("http://example.com/", Scope.DEFAULT) == "http://example.com/"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://www.example.com/x", "http://www.example.com/x/"),
        ("http://www.example.com/x?q", "http://www.example.com/x/?q"),
        ("http://www.example.com/x.html", "http://www.example.com/x.html"),
        ("http://a.example.org/x/", "http://a.example.org/x"),
        ("http://a.example.org/", "http://a.example.org/"),
        ("http://elsewhere.com/x", "http://elsewhere.com/x"),
    ],
)
def test_slashes(url: str, expected: str) -> None:
    plugin = SlashURLNormalizer(config("slashes", SLASHES))
    assert plugin.normalize(url, Scope.DEFAULT) == expected


@pytest.mark.parametrize(
    ("path", "has_extension"),
    [
        ("/page.html", True),
        ("/page.xhtml", True),
        ("/page.", True),
        ("/release-1.2-notes", False),
        ("/john.smith", True),
        ("/john.smithy", False),
        ("/v1.2/about", False),
        ("/v1.2/abc", True),
        ("/a/.b/", True),
        ("/folder", False),
        ("/a.b", False),
        ("/x.js", False),
        ("/xx.js", True),
        ("/", True),
    ],
)
def test_the_slash_normalizers_idea_of_an_extension_is_nutchs(
    path: str, has_extension: bool
) -> None:
    plugin = SlashURLNormalizer(config("slashes", SLASHES))
    url = f"http://www.example.com{path}"
    assert plugin.normalize(url, Scope.DEFAULT) == (url if has_extension else f"{url}/")


def test_the_column_asks_only_for_hosts_with_a_rule() -> None:
    urls = ["http://www.example.com/", "http://x.com/", None, "no url"]
    plugin = HostURLNormalizer(config("hosts", HOSTS))
    assert left_alone_by_column(plugin, urls) == [False, True, True, True]


@pytest.mark.parametrize(
    ("plugin", "key", "text", "complaint"),
    [
        (HostURLNormalizer, "hosts", "a.com", r"hosts.rules:1: expected a host"),
        (HostURLNormalizer, "hosts", "\na.com b c", r"hosts.rules:2: expected a host"),
        (HostURLNormalizer, "hosts", "a/b c.com", r"'a/b' is not a host"),
        (HostURLNormalizer, "hosts", "a.com *.b.com/", r"is not a host"),
        (ProtocolURLNormalizer, "protocols", "a.com gopher", r"expected http or https"),
        (SlashURLNormalizer, "slashes", "a.com *", r"expected \+ or -"),
    ],
)
def test_bad_lines(plugin: Any, key: str, text: str, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        plugin(config(key, text))


@pytest.mark.parametrize("plugin", [HostURLNormalizer, ProtocolURLNormalizer, SlashURLNormalizer])
def test_the_shipped_files_change_nothing(plugin: Any) -> None:
    shipped = plugin(Config.of())
    assert all(shipped.normalize(url, Scope.DEFAULT) == url for url in URLS)
