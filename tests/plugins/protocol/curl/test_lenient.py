from __future__ import annotations

from typing import Any

import pytest

from crawl.interfaces.protocol import FailureKind, Request
from crawl.plugins.protocol.curl import lenient
from crawl.plugins.protocol.curl.lenient import LenientClient
from crawl.plugins.protocol.http import HttpProtocol
from crawl.plugins.protocol.http_requests import RequestsProtocol
from crawl.testing.http.case import HttpCase
from crawl.testing.servers.scripted_server import ScriptedServer

ODD = b"HTTP/1.1 200 OK\r\nno colon\r\nContent-Length: 2\r\n\r\nhi"


class TestHttp(HttpCase):
    plugin_class = HttpProtocol

    def test_a_server_is_asked_twice_for_its_first_odd_answer_alone(
        self, server: ScriptedServer
    ) -> None:
        """And never by one call: the pause between two requests is the engine's."""
        server.answers |= {"/1": ODD, "/2": ODD}
        plugin = self.plugin()
        assert self.failure(plugin, server.url("/1")).kind is FailureKind.REFUSED_HEAD
        assert [request.target for request in server.requests] == ["/1"]
        for path in ("/1", "/2"):
            assert self.response(plugin, server.url(path)).body == b"hi"
        assert [request.target for request in server.requests] == ["/1", "/1", "/2"]
        plugin.close()

    def test_both_clients_send_the_same_headers(self, server: ScriptedServer) -> None:
        server.answers["/"] = ODD
        plugin = self.plugin()
        self.asked_for(plugin, server.url())
        first, second = (
            {line.lower() for line in request.raw.split(b"\r\n")} for request in server.requests
        )
        assert first - second == set()

    def test_transfers_leave_such_servers_to_threads(self, server: ScriptedServer) -> None:
        server.answers["/"] = ODD
        plugin = self.plugin()
        self.asked_for(plugin, server.url())
        transfers = plugin.transfers()
        assert not transfers.begin(Request(server.url()), "ticket")
        transfers.close()


class TestHttpRequests(HttpCase):
    plugin_class = RequestsProtocol

    def test_it_needs_no_second_request(self, server: ScriptedServer) -> None:
        server.answers["/"] = ODD
        assert self.response(self.plugin(), server.url()).body == b"hi"


def test_only_so_many_servers_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lenient, "_MAX_SERVERS", 2)
    client = LenientClient(_no_client)
    for number in range(4):
        client.remember(f"http://{number}.org")
    assert [client.is_for(f"http://{number}.org") for number in range(4)] == [
        *(False, False, True, True)
    ]
    client.close()


def _no_client() -> Any:
    raise AssertionError("no client is needed")
