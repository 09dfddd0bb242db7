from __future__ import annotations

import pytest

from crawl.config import Config
from crawl.errors import ConfigError
from crawl.plugins.protocol.shared.proxies import ProxyRules
from crawl.urls.servers import server_of


def proxies(rules: str = "", **values: object) -> ProxyRules:
    settings = {name.replace("_", "."): value for name, value in values.items()}
    if rules:
        settings["http.proxy.file"] = "proxies.txt"
    return ProxyRules(Config.of(settings, files={"proxies.txt": rules}))


def used(found: ProxyRules, url: str) -> str:
    server = server_of(url)
    assert server is not None
    return found.proxy_for(server)


def test_none_by_default() -> None:
    assert used(proxies(), "http://a.test/") == ""


def test_one_for_all_but_exceptions() -> None:
    found = proxies(
        http_proxy_host="proxy.test",
        http_proxy_port=3128,
        http_proxy_username="me@home",
        http_proxy_password="s:t",
        http_proxy_exception_list="near.test *.inner.test",
    )
    assert used(found, "https://a.test/") == "http://me%40home:s%3At@proxy.test:3128"
    assert used(found, "http://near.test/") == ""
    assert used(found, "http://x.inner.test/") == ""
    assert used(found, "http://inner.test/") != ""
    assert used(proxies(http_proxy_host="p", http_proxy_type="SOCKS"), "http://a/") == (
        "socks5h://p:8080"
    )


def test_by_host_then_scheme_then_any_and_in_turn() -> None:
    found = proxies(
        "a.test http://one:1 http://two:2\n"
        "*.b.test direct\n"
        "https: http://secure:3\n"
        "* socks5h://any:4\n"
    )
    assert [used(found, "https://a.test/") for _ in range(3)] == [
        "http://one:1",
        "http://two:2",
        "http://one:1",
    ]
    assert used(found, "https://x.b.test/") == ""
    assert used(found, "https://c.test/") == "http://secure:3"
    assert used(found, "http://c.test/") == "socks5h://any:4"


@pytest.mark.parametrize(
    "line", ["a.test", "a.test ftp://x:1", "a.test proxy:80", "a/b http://x:1", "* direct direct"]
)
def test_a_wrong_line_is_reported_with_its_place(line: str) -> None:
    with pytest.raises(ConfigError, match="proxies.txt:1"):
        proxies(line)


def test_a_host_that_is_none() -> None:
    with pytest.raises(ConfigError, match="http.proxy.host"):
        proxies(http_proxy_host="a b")
