"""A request may be taken back until the moment at which it is sent, and its times are known."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from crawl.config import Config
from crawl.interfaces.protocol import Failure, FailureKind, Request, Response
from crawl.plugins.protocol.http import HttpProtocol
from crawl.plugins.protocol.http_base import HttpBase
from crawl.plugins.protocol.http_requests import RequestsProtocol
from crawl.testing.servers.scripted_server import ScriptedServer, honest, scripted_server
from tests.plugins.protocol.curl.test_transfers import ByTransfers

PLUGINS = pytest.mark.parametrize("plugin_class", [HttpProtocol, ByTransfers, RequestsProtocol])
SLOW_S = 0.25


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with scripted_server() as serving:
        yield serving


def plugin_of(
    plugin_class: type[HttpBase],
    resolve: Callable[[str], list[str]] = lambda host: ["127.0.0.1"],
    settings: dict[str, object] | None = None,
) -> HttpBase:
    config = Config.of(
        {
            "http.agent.name": "mybot",
            "http.filter.ipaddress.allow.private": True,
            **(settings or {}),
        }
    )
    return plugin_class(config, resolver=resolve)


@PLUGINS
def test_a_request_that_is_taken_back_is_not_sent(
    plugin_class: type[HttpBase], server: ScriptedServer
) -> None:
    server.page("/")
    plugin = plugin_of(plugin_class)
    answer = plugin.fetch(Request(server.url(), why_withheld=lambda: "lease ended"))
    assert isinstance(answer, Failure)
    assert (answer.kind, answer.message, answer.sent) == (FailureKind.WITHHELD, "lease ended", 0.0)
    assert server.requests == []
    allowed = plugin.fetch(Request(server.url(), why_withheld=lambda: ""))
    assert isinstance(allowed, Response) and allowed.code == 200
    again = plugin.fetch(Request(server.url(), why_withheld=lambda: "lease ended"))
    assert isinstance(again, Failure) and again.kind is FailureKind.WITHHELD
    assert len(server.requests) == 1, "nor on a connection that is kept"
    assert isinstance(plugin.fetch(Request(server.url())), Response)
    plugin.close()


@PLUGINS
def test_it_is_asked_when_the_connection_is_made(plugin_class: type[HttpBase]) -> None:
    """A process may stand still between the connection and the request."""
    accepted = threading.Event()
    received: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                accepted.set()
                connection.settimeout(30)
                received.append(connection.recv(4096))

        serving = threading.Thread(target=serve, daemon=True)
        serving.start()

        def why_withheld() -> str:
            return "after it was connected" if accepted.wait(30) else "never connected"

        plugin = plugin_of(plugin_class)
        url = f"http://a.test:{listener.getsockname()[1]}/"
        answer = plugin.fetch(Request(url, why_withheld=why_withheld))
        plugin.close()
        serving.join(30)
    assert isinstance(answer, Failure)
    assert answer.message == "after it was connected"
    assert received == [b""], "the server has seen a connection, and not a byte"


@PLUGINS
def test_a_withheld_request_says_nothing_against_the_address(
    plugin_class: type[HttpBase], server: ScriptedServer
) -> None:
    server.page("/")
    plugin = plugin_of(plugin_class, lambda host: ["127.0.0.1", "127.0.0.2"])
    plugin.fetch(Request(server.url(), why_withheld=lambda: "lease ended"))
    assert plugin.resolver.locate("a.test").addresses[0] == "127.0.0.1"
    plugin.close()


@PLUGINS
def test_the_times_of_a_request(plugin_class: type[HttpBase], server: ScriptedServer) -> None:
    def slow(connection: socket.socket) -> None:
        time.sleep(SLOW_S)
        connection.sendall(honest(b"Fine"))

    def resolve(host: str) -> list[str]:
        time.sleep(SLOW_S)
        return ["127.0.0.1"]

    server.answers["/"] = slow
    server.page("/kept")
    plugin = plugin_of(plugin_class, resolve)
    first = plugin.fetch(Request(server.url()))
    _, kept = (plugin.fetch(Request(server.url("/kept", "b.test"))) for _ in range(2))
    plugin.close()
    least_ms = round(SLOW_S * 1000) - 2
    assert isinstance(first, Response)
    if plugin_class is not ByTransfers:  # it has the host looked up before
        assert first.dns_ms is not None and first.dns_ms >= least_ms
    assert first.first_byte_ms is not None and first.connect_ms is not None
    assert least_ms <= first.first_byte_ms
    assert first.connect_ms + first.first_byte_ms <= first.elapsed_ms + 3
    assert isinstance(kept, Response)
    assert [request.connection for request in server.requests] == [1, 2, 2]
    assert kept.dns_ms is not None and kept.dns_ms < least_ms
    assert kept.connect_ms == 0


@PLUGINS
def test_a_handshake_is_part_of_the_connection(
    plugin_class: type[HttpBase], tmp_path: Path
) -> None:
    from tests.plugins.protocol.certificates import server_context, write_certificate

    context = server_context(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            time.sleep(SLOW_S)
            with context.wrap_socket(connection, server_side=True) as secured:
                secured.recv(4096)
                secured.sendall(honest(b"Fine"))

        serving = threading.Thread(target=serve, daemon=True)
        serving.start()
        trusted = str(write_certificate(tmp_path))
        plugin = plugin_of(plugin_class, settings={"http.tls.ca.file": trusted})
        answer = plugin.fetch(Request(f"https://a.test:{listener.getsockname()[1]}/"))
        plugin.close()
        serving.join(30)
    assert isinstance(answer, Response), answer
    assert answer.connect_ms is not None and answer.connect_ms >= round(SLOW_S * 1000) - 2


def test_behind_a_proxy_nobody_here_looks_the_host_up(server: ScriptedServer) -> None:
    server.answers[server.url("/", "far.test")] = lambda connection: connection.sendall(
        honest(b"Fine")
    )
    port = int(server.url().split(":")[2].rstrip("/"))
    for plugin_class in (HttpProtocol, RequestsProtocol):
        plugin = plugin_of(
            plugin_class, settings={"http.proxy.host": "127.0.0.1", "http.proxy.port": port}
        )
        answer = plugin.fetch(Request(server.url("/", "far.test")))
        plugin.close()
        assert isinstance(answer, Response), answer
        assert answer.dns_ms is None
