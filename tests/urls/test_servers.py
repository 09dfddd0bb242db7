from __future__ import annotations

import pytest
from hypothesis import given

from crawl.urls.parse import authority, parse
from crawl.urls.servers import Server, server_and_path, server_of
from tests.urls.test_parse import WICKED
from tests.urls.texts import texts


def test_what_a_server_is_known_by() -> None:
    own = Server("http", "example.com", 80, "example.com", "http://example.com", False)
    assert server_of("http://example.com/a") == server_of("http://example.com:80/b") == own
    other = Server("https", "[::1]", 8443, "[::1]:8443", "https://[::1]:8443", True)
    assert server_of("https://user:secret@[::1]:8443/") == other
    assert server_of("ftp://a/b") == Server("ftp", "a", 21, "a", "ftp://a", False)


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("http://a/", "/"),
        ("http://a", "/"),
        ("http://a/b/c.html?d=/e&f", "/b/c.html?d=/e&f"),
        ("http://a/b/../c/./d", "/c/d"),
        ("http://a/b/%2e%2e/c", "/c"),
        ("http://a/b c?d e#f", "/b%20c?d%20e"),
        ("http://a/ü", "/%C3%BC"),
        ("http://a/b\\c", "/b/c"),
        ("http://a/b?c='d'", "/b?c=%27d%27"),
        ("http://a?b", "/?b"),
        ("http://a\\b/c", "/b/c"),
        ("http:///a/b", "/b"),
    ],
)
def test_what_it_is_asked_for(url: str, path: str) -> None:
    found = server_and_path(url)
    assert found is not None
    assert found[0].host == "a"
    assert found[1] == path


def test_the_beginning_alone_does_not_always_name_the_server() -> None:
    hosts = {"http:////a/b": "a", "http:////c/d": "c", "http://e\\f@g/": "e", "http://e?@g/": "e"}
    for url, host in hosts.items():
        server = server_of(url)
        assert server is not None and server.host == host, url


@pytest.mark.parametrize("url", ["", "/a", "mailto:a@b", "data:,a/b/c/d", "http://", "http:////"])
def test_some_name_none(url: str) -> None:
    assert server_of(url) is None and server_and_path(url) is None


def agrees(text: str) -> None:
    parsed = parse(text)
    if parsed is None or not (parsed.host or parsed.scheme == "file"):
        assert server_of(text) is None and server_and_path(text) is None
        return
    server, found = server_of(text), server_and_path(text)
    assert server is not None and found is not None and found[0] == server
    assert (server.scheme, server.host) == (parsed.scheme, parsed.host)
    assert server.origin == authority(parsed) == f"{server.scheme}://{server.authority}"
    query = "" if parsed.query is None else f"?{parsed.query}"
    assert found[1] == (parsed.path or "/") + query


@given(texts)
def test_any_text_has_the_server_and_path_of_its_parse(text: str) -> None:
    agrees(text)
    agrees(f"http://example.com/{text}")
    agrees(f"http://{text}/a")


@pytest.mark.parametrize("text", WICKED, ids=lambda text: f"{len(text)}")
def test_wicked_texts_too(text: str) -> None:
    agrees(text)


def test_files_have_a_server_without_a_name() -> None:
    server = server_of("file:///a/b")
    assert server is not None
    assert (server.scheme, server.host, server.origin) == ("file", "", "file://")
    share = server_of("file://share/b")
    assert share is not None and share.host == "share"
