from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from crawl.config import Config
from crawl.errors import ConfigError
from crawl.interfaces.protocol import Failure, FailureKind, Request, Response
from crawl.plugins.protocol.http import HttpProtocol
from crawl.plugins.protocol.http_requests import RequestsProtocol
from crawl.testing.servers.scripted_server import ScriptedServer, scripted_server
from tests.plugins.protocol.certificates import server_context, write_certificate

BOTH = pytest.mark.parametrize("plugin_class", [HttpProtocol, RequestsProtocol])


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ScriptedServer]:
    context = server_context(tmp_path)
    with scripted_server(tls=context) as server:
        server.page("/", b"Secured")
        names: list[str] = []
        context.sni_callback = lambda _socket, name, _context: names.append(name)
        server.names = names  # type: ignore[attr-defined]
        yield server


def plugin(plugin_class: Any, **values: object) -> Any:
    settings = {"http.agent.name": "mybot", "http.filter.ipaddress.allow.private": True}
    given = {name.replace("_", "."): value for name, value in values.items()}
    config = Config.of({**settings, **given})
    return plugin_class(config, resolver=lambda host: ["127.0.0.1"])


@BOTH
def test_nobody_is_trusted_unseen(plugin_class: Any, server: ScriptedServer) -> None:
    got = plugin(plugin_class).fetch(Request(server.url()))
    assert isinstance(got, Failure) and got.kind is FailureKind.TLS
    assert "certificate" in got.message and got.sent == 0
    assert server.requests == []


@BOTH
def test_a_trusted_authority(plugin_class: Any, server: ScriptedServer, tmp_path: Path) -> None:
    trusting = plugin(plugin_class, http_tls_ca_file=str(write_certificate(tmp_path)))
    for _ in range(2):
        got = trusting.fetch(Request(server.url("/", "x.a.test")))
        assert isinstance(got, Response) and got.body == b"Secured"
        assert got.cipher.startswith("TLSv1.3 / TLS_") and got.cipher.count("/") == 1
    assert got.ip == "127.0.0.1"
    assert server.names == ["x.a.test"]  # type: ignore[attr-defined]
    assert [request.connection for request in server.requests] == [1, 1]
    assert server.requests[0].header("Host") == f"x.a.test:{server.port}"
    assert server.requests[0].raw == got.request_headers


@BOTH
def test_the_name_must_be_the_certificates(
    plugin_class: Any, server: ScriptedServer, tmp_path: Path
) -> None:
    trusting = plugin(plugin_class, http_tls_ca_file=str(write_certificate(tmp_path)))
    for host in ("b.test", "127.0.0.1"):
        got = trusting.fetch(Request(server.url("/", host)))
        assert isinstance(got, Failure) and got.kind is FailureKind.TLS, host
    assert server.requests == []


@BOTH
def test_the_check_can_be_left_out(plugin_class: Any, server: ScriptedServer) -> None:
    careless = plugin(plugin_class, http_tls_certificates_check=False)
    got = careless.fetch(Request(server.url("/", "b.test")))
    assert isinstance(got, Response) and got.body == b"Secured"


@BOTH
def test_a_server_that_speaks_no_tls(plugin_class: Any) -> None:
    with scripted_server() as plain:
        url = plain.url().replace("http:", "https:")
        got = plugin(plugin_class, http_timeout=500).fetch(Request(url))
    assert isinstance(got, Failure)
    assert got.kind in (FailureKind.TLS, FailureKind.DISCONNECTED, FailureKind.CONNECT_TIMEOUT)


@BOTH
def test_a_server_that_never_shakes_hands(plugin_class: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"https://a.test:{listener.getsockname()[1]}/"
        got = plugin(plugin_class, http_timeout=500).fetch(Request(url))
    assert isinstance(got, Failure) and got.kind is FailureKind.CONNECT_TIMEOUT
    assert got.sent == 0


@BOTH
def test_a_file_that_is_not_there(plugin_class: Any) -> None:
    with pytest.raises(ConfigError, match="http.tls.ca.file"):
        plugin(plugin_class, http_tls_ca_file="nowhere.pem")


def _relay(port: int) -> Callable[[socket.socket], None]:
    """What a proxy does with a CONNECT."""

    def pump(source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

    def serve(client: socket.socket) -> None:
        with socket.create_connection(("127.0.0.1", port)) as server:
            client.sendall(b"HTTP/1.1 200 Connected\r\nX-Proxy: 1\r\n\r\n")
            threading.Thread(target=pump, args=(client, server), daemon=True).start()
            pump(server, client)

    return serve


@BOTH
def test_through_a_proxys_tunnel(plugin_class: Any, server: ScriptedServer, tmp_path: Path) -> None:
    with scripted_server() as proxy:
        proxy.answers[f"a.test:{server.port}"] = _relay(server.port)
        proxy.answers[f"b.test:{server.port}"] = _relay(server.port)
        proxied = plugin(
            plugin_class,
            http_tls_ca_file=str(write_certificate(tmp_path)),
            http_proxy_host="127.0.0.1",
            http_proxy_port=proxy.port,
            http_proxy_username="me",
            http_proxy_password="hush",
        )
        got = proxied.fetch(Request(server.url()))
        assert isinstance(got, Response), got
        assert (got.code, got.body, got.ip) == (200, b"Secured", "")
        assert not got.header("X-Proxy") and got.cipher
        assert got.request_headers == server.requests[0].raw
        assert proxy.requests[0].header("Proxy-Authorization") == "Basic bWU6aHVzaA=="
        wrong = proxied.fetch(Request(server.url("/", "b.test")))
        assert isinstance(wrong, Failure) and wrong.kind is FailureKind.TLS
        assert wrong.sent == 0
        refused = proxied.fetch(Request(server.url("/", "c.test")))
        assert isinstance(refused, Failure) and refused.kind is FailureKind.PROXY
        proxied.close()


def _frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    length = len(payload).to_bytes(3, "big")
    return length + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def _speak_http2(listener: socket.socket, context: ssl.SSLContext) -> None:
    """Answers the first request: `:status 200` and six bytes."""
    with suppress(OSError):
        plain, _ = listener.accept()
        with context.wrap_socket(plain, server_side=True) as connection:
            stream = connection.makefile("rb")
            stream.read(24)  # the preface
            connection.sendall(_frame(4, 0, 0))
            while True:
                head = stream.read(9)
                stream.read(int.from_bytes(head[:3], "big"))
                if head[3] == 1:  # HEADERS
                    break
            answer = _frame(4, 1, 0) + _frame(1, 4, 1, b"\x88") + _frame(0, 1, 1, b"Second")
            connection.sendall(answer)
            stream.read(1)


def test_http2(tmp_path: Path) -> None:
    context = server_context(tmp_path, "h2")
    authority = str(write_certificate(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=_speak_http2, args=(listener, context), daemon=True).start()
        url = f"https://a.test:{listener.getsockname()[1]}/"
        two = plugin(HttpProtocol, http_useHttp2=True, http_tls_ca_file=authority)
        got = two.fetch(Request(url))
        two.close()
    assert isinstance(got, Response), got
    assert (got.code, got.body, got.version) == (200, b"Second", "HTTP/2")
    assert got.request_headers.startswith(b"GET / HTTP/2\r\nHost: a.test:")


@BOTH
@pytest.mark.parametrize("says_so", [True, False])
def test_a_page_without_a_length_ends_when_tls_says_so(
    plugin_class: Any, server: ScriptedServer, tmp_path: Path, says_so: bool
) -> None:
    """Anybody can close a connection; only the server can end its TLS (RFC 9112, 9.8)."""

    def answer(connection: socket.socket) -> None:
        assert isinstance(connection, ssl.SSLSocket)
        connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabc")
        with suppress(OSError):
            if says_so:
                connection.unwrap()
            connection.shutdown(socket.SHUT_RDWR)

    server.answers["/open"] = answer
    trusting = plugin(plugin_class, http_tls_ca_file=str(write_certificate(tmp_path)))
    got = trusting.fetch(Request(server.url("/open", "x.a.test")))
    if says_so:
        assert isinstance(got, Response) and got.body == b"abc" and not got.truncated
    else:
        assert isinstance(got, Failure) and got.kind is FailureKind.DISCONNECTED
