from __future__ import annotations

import pytest

from crawl.config import Config
from crawl.errors import ConfigError
from crawl.plugins.protocol.http_requests import RequestsProtocol
from crawl.testing.protocol_contract import HttpContract


class TestContract(HttpContract):
    plugin_class = RequestsProtocol


@pytest.mark.parametrize(
    "settings",
    [
        {"http.proxy.host": "p.test", "http.proxy.type": "SOCKS"},
        {"http.proxy.file": "p.txt"},
    ],
)
def test_socks_without_its_library_is_reported_at_once(
    settings: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"p.txt": "a.test http://p.test:1\nb.test socks5://p.test:1\n"}
    config = Config.of({"http.agent.name": "mybot", **settings}, files)
    monkeypatch.setattr("crawl.plugins.protocol.http_requests.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match="SOCKS without PySocks"):
        RequestsProtocol(config)
    plain = Config.of({"http.agent.name": "mybot", "http.proxy.host": "p.test"})
    RequestsProtocol(plain).close()
