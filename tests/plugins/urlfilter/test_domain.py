"""The filters domain and domaindenylist, which share the form of their list."""

from __future__ import annotations

import pytest

from crawl.config import Config
from crawl.errors import ConfigError
from crawl.interfaces.urlfilter import URLFilter
from crawl.plugins.urlfilter.domain import DomainURLFilter
from crawl.plugins.urlfilter.domaindenylist import DomainDenylistURLFilter
from crawl.testing.urlfilter_contract import URLFilterContract
from tests.plugins.columns import accepted_by_column

LIST = "# listed\nwww.example.com\nexample.org\nco.uk\n.xn--fiqs8s\nmüller.de\n"
LISTED = [
    "http://www.example.com/x",
    "http://www.example.com./x",
    "http://deep.example.org/",
    "http://example.org:8080/",
    "http://a.b.co.uk/",
    "http://x.xn--fiqs8s/",
    "http://MÜLLER.de/",
]
OTHERS = ["http://example.com/", "http://b.www.example.com/", "http://org/", "http://1.2.3.4/"]
WITHOUT_HOST = ["file:///x", "mailto:a@example.org", "nothing"]


def allow(text: str) -> Config:
    return Config.of(files={"domain-urlfilter.txt": text})


def deny(text: str) -> Config:
    return Config.of(files={"domaindenylist-urlfilter.txt": text})


class TestDomainContract(URLFilterContract):
    plugin_class = DomainURLFilter

    def config(self) -> Config:
        return allow(LIST)

    def samples(self) -> list[str]:
        return [*LISTED, *OTHERS, *WITHOUT_HOST]


class TestShippedDomainContract(URLFilterContract):
    plugin_class = DomainURLFilter


class TestDenylistContract(URLFilterContract):
    plugin_class = DomainDenylistURLFilter

    def samples(self) -> list[str]:
        return [*LISTED, *OTHERS, *WITHOUT_HOST]

    def config(self) -> Config:
        return deny(LIST)


def decisions(plugin: URLFilter, urls: list[str]) -> list[bool | None]:
    by_column = accepted_by_column(plugin, urls)
    assert by_column == [plugin.rejection(url) is None for url in urls]
    return by_column


def test_only_what_is_listed() -> None:
    plugin = DomainURLFilter(allow(LIST))
    assert all(decisions(plugin, LISTED))
    assert not any(decisions(plugin, OTHERS + WITHOUT_HOST))
    assert plugin.rejection("http://example.com/") == "example.com is not listed"
    assert plugin.rejection("nothing") == "no host is not listed"


def test_an_empty_list_accepts_all() -> None:
    assert all(decisions(DomainURLFilter(Config.of()), LISTED + OTHERS + WITHOUT_HOST))


def test_all_but_what_is_denied() -> None:
    plugin = DomainDenylistURLFilter(deny(LIST))
    assert not any(decisions(plugin, LISTED))
    assert all(decisions(plugin, OTHERS + WITHOUT_HOST))
    assert plugin.rejection("http://a.b.co.uk/") == "co.uk is denied"
    assert all(decisions(DomainDenylistURLFilter(Config.of()), LISTED + OTHERS))


def test_a_line_that_is_no_host() -> None:
    with pytest.raises(ConfigError, match=r"^domain-urlfilter.txt:2: 'http://a.com/' is not"):
        DomainURLFilter(allow("a.com\nhttp://a.com/"))
