"""What an HTTP plugin sends in a request."""

from __future__ import annotations

import time

import pytest

from crawl.config import Config
from crawl.errors import ConfigError
from crawl.interfaces.protocol import Failure, Request, Truncation
from crawl.testing.http.case import HttpCase
from crawl.testing.servers.scripted_answers import then_close
from crawl.testing.servers.scripted_server import ScriptedServer, honest


class HttpRequestContract(HttpCase):
    """The part of HttpContract about requests."""

    def test_a_crawler_has_a_name(self) -> None:
        with pytest.raises(ConfigError, match="-D http.agent.name=mybot"):
            self.plugin_class(Config.of())

    def test_who_it_is_and_what_it_takes(self, server: ScriptedServer) -> None:
        plugin = self.plugin(
            http_agent_version="2.0",
            http_agent_description="tests",
            http_agent_url="http://a.test/bot",
            http_agent_email="bot@a.test",
            http_custom_headers="X-One: 1\nDNT: 1",
        )
        self.response(plugin, server.url())
        request = server.requests[0]
        assert request.header("User-Agent") == "mybot/2.0 (tests; http://a.test/bot; bot@a.test)"
        assert request.header("From") == "bot@a.test"
        assert request.header("Accept").startswith("text/html")
        assert request.header("Accept-Language").startswith("en-us")
        assert request.header("Accept-Encoding") == "gzip, deflate, br, zstd"
        assert (request.header("X-One"), request.header("DNT")) == ("1", "1")
        assert request.header("Host") == f"a.test:{server.port}"

    def test_heads_are_kept_byte_by_byte(self, server: ScriptedServer) -> None:
        server.page("/x?q=%7E", b"Fine", "X-Odd:  two  ", "Set-Cookie: a=1", "set-cookie: b=2")
        got = self.response(self.plugin(), server.url("/x?q=%7E#part"))
        assert got.request_headers == server.requests[0].raw
        assert got.response_headers + b"Fine" == server.answers["/x?q=%7E"]
        names = ["Content-Length", "X-Odd", "Set-Cookie", "set-cookie"]
        assert [name for name, _ in got.headers] == names
        assert got.header("X-odd") == "two" and got.header("Set-Cookie") == "b=2"

    def test_the_answer_tells_where_and_when_it_came_from(self, server: ScriptedServer) -> None:
        server.page("/")
        before = time.monotonic()
        got = self.response(self.plugin(), server.url())
        after = time.monotonic()
        assert (got.code, got.body, got.truncated) == (200, b"Fine", Truncation.WHOLE)
        assert (got.ip, got.version, got.cipher) == ("127.0.0.1", "HTTP/1.1", "")
        assert before <= got.sent <= after and 0 <= got.elapsed_ms <= (after - before) * 1000 + 1

    def test_only_what_changed(self, server: ScriptedServer) -> None:
        server.answers["/"] = b'HTTP/1.1 304 Not Modified\r\nETag: "v1"\r\n\r\n'
        url = server.url()
        stated = "Tue, 14 Nov 2023 22:13:20 +0000"  # as a server may write it, and reads it back
        state = {"modified_since_ms": 1_700_000_123_000, "etag": 'W/"v1"', "last_modified": stated}
        got = self.response(self.plugin(), url, **state)
        assert (got.code, got.body, got.header("ETag")) == (304, b"", '"v1"')
        assert server.requests[0].header("If-Modified-Since") == stated
        assert server.requests[0].header("If-None-Match") == 'W/"v1"'
        self.response(self.plugin(), url, modified_since_ms=1_700_000_123_000)
        assert server.requests[1].header("If-Modified-Since") == ""  # no server named that date

    def test_headers_of_the_request_cannot_add_lines(self, server: ScriptedServer) -> None:
        headers = (("Cookie", "a=1\r\nX-Evil: 1"), ("Bad Name\r\nX-Evil", "1"), ("X-Ü", "1"))
        self.response(
            self.plugin(),
            server.url(),
            headers=headers,
            etag="x\nX-Evil: 2",
            last_modified="y\r\nX-Evil: 3",
        )
        assert server.requests[0].header("Cookie").startswith("a=1")
        assert server.requests[0].header("X-Evil") == ""

    def test_cookies_by_host(self, server: ScriptedServer) -> None:
        plugin = self.plugin(http_agent_host_cookie_file="cookies.txt")
        for host in ("a.test", "b.test", "x.deep.test"):
            self.response(plugin, server.url("/", host))
        self.response(plugin, server.url(), headers=(("Cookie", "mine=1"),))
        sent = [request.header("Cookie") for request in server.requests]
        assert sent == ["id=7; b=8", "", "deep=1", "mine=1"]

    def test_no_cookie_is_kept(self, server: ScriptedServer) -> None:
        server.page("/", b"Fine", "Set-Cookie: id=1; Path=/")
        plugin = self.plugin()
        self.response(plugin, server.url())
        self.response(plugin, server.url())
        assert [request.header("Cookie") for request in server.requests] == ["", ""]

    def test_credentials_by_host(self, server: ScriptedServer) -> None:
        plugin = self.plugin(http_auth_file="auth.txt")
        for host in ("basic.test", "bearer.test", "a.test"):
            self.response(plugin, server.url("/", host))
        sent = [request.header("Authorization") for request in server.requests]
        assert sent == ["Basic bWU6c2VjcmV0", "Bearer abc", ""]

    def test_digest(self, server: ScriptedServer) -> None:
        challenge = 'WWW-Authenticate: Digest realm="r", nonce="n", qop="auth", algorithm=MD5'
        turns = iter([honest(b"", challenge, "Connection: close", code=401), honest(b"Inside")])
        server.answers["/"] = lambda connection: connection.sendall(next(turns))
        plugin = self.plugin(http_auth_file="auth.txt")
        got = self.response(plugin, server.url("/", "digest.test"))
        assert (got.code, got.body) == (200, b"Inside")
        assert len(server.requests) == 2
        answer = server.requests[1].header("Authorization")
        assert answer.startswith("Digest ") and 'username="me"' in answer
        head = server.requests[1].raw.replace(answer.encode(), b"***")
        assert got.request_headers == head

    def test_secrets_are_sent_and_not_kept(self, server: ScriptedServer) -> None:
        plugin = self.plugin(
            http_auth_file="auth.txt", http_custom_headers="Proxy-Authorization: Basic eHh4"
        )
        url = server.url("/", "basic.test")
        got = self.response(plugin, url, headers=(("Cookie", "id=verysecret"),))
        (request,) = server.requests
        secrets = ("Basic bWU6c2VjcmV0", "id=verysecret", "Basic eHh4")
        for name, secret in zip(
            ("Authorization", "Cookie", "Proxy-Authorization"), secrets, strict=True
        ):
            assert request.header(name) == secret
            assert f"{name}: ***\r\n".encode() in got.request_headers
            assert secret.encode() not in got.request_headers

    def test_custom_headers_that_are_secrets_are_not_kept(self, server: ScriptedServer) -> None:
        custom = "X-Api-Key: k4711\nX-Access: Bearer b4711\nX-Colour: red"
        got = self.response(self.plugin(http_custom_headers=custom), server.url())
        (request,) = server.requests
        assert (request.header("X-Api-Key"), request.header("X-Access")) == (
            "k4711",
            "Bearer b4711",
        )
        assert b"4711" not in got.request_headers
        for line in (b"X-Api-Key: ***", b"X-Access: ***", b"X-Colour: red"):
            assert b"\r\n" + line + b"\r\n" in got.request_headers

    @pytest.mark.parametrize(
        "echo",
        [
            b"%b is no login\r\n\r\n",
            b"HTTP/1.1 %b\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Encoding: %b\r\nContent-Length: 1\r\n\r\nx",
            b"HTTP/1.1 200 OK\r\nContent-Length: 1, %b\r\n\r\nx",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%b\r\nx",
            b"HTTP/1.1 200 OK\r\n%b\0\r\n\r\nx",
        ],
    )
    @pytest.mark.parametrize("secret", [b"Basic bWU6c2VjcmV0", b"bWU6c2VjcmV0", b"secret"])
    def test_no_message_repeats_a_secret_that_the_server_repeats(
        self, server: ScriptedServer, echo: bytes, secret: bytes
    ) -> None:
        server.answers["/"] = then_close(echo % secret)
        plugin = self.plugin(http_auth_file="auth.txt")
        for _ in range(2):  # the second time another client may read the answer
            got = plugin.fetch(Request(server.url("/", "basic.test")))
            assert server.requests[0].header("Authorization") == "Basic bWU6c2VjcmV0"
            if isinstance(got, Failure):
                assert "bWU6" not in got.message and "secret" not in got.message

    def test_the_users_of_a_url_are_nobodys_business(self, server: ScriptedServer) -> None:
        self.response(self.plugin(), f"http://me:secret@a.test:{server.port}/")
        assert server.requests[0].header("Authorization") == ""
