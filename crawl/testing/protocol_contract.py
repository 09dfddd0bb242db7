"""What every protocol plugin must keep to; subclass it in your own tests:

class TestMine(HttpContract):
    plugin_class = MyProtocol

The plugin takes a keyword `resolver`, so that hosts of the tests are on loopback.
"""

from __future__ import annotations

import gzip
import socket
import struct
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from crawl.config import Config
from crawl.errors import ConfigError
from crawl.interfaces.protocol import (
    Failure,
    FailureKind,
    FetchProtocol,
    Request,
    Response,
    Truncation,
)
from crawl.testing.plugin_contract import PluginContract
from crawl.testing.scripted_server import ScriptedServer, honest, scripted_server
from crawl.testing.wicked_urls import wicked_urls

ENOUGH = 20.0
"""Seconds that a thread of a test waits for another at most."""


class ProtocolContract(PluginContract[FetchProtocol]):
    """What holds for any scheme."""

    interface = "protocol"

    def test_nothing_that_is_no_url_of_its_own_is_fetched_or_raises(self) -> None:
        plugin = self.make()
        for url in ["", "nonsense", "mailto:a@b.test", "data:,x", "gopher://a.test/", "http:"]:
            answer = plugin.fetch(Request(url))
            assert isinstance(answer, Failure), url
            assert answer.kind is FailureKind.NOT_SUPPORTED and answer.sent == 0, url

    def test_an_executor_builds_it_from_its_name(self) -> None:
        there = self.make_elsewhere()
        assert there.schemes == self.make().schemes
        there.close()


class HttpContract(ProtocolContract):
    """Tests for pytest, on servers of loopback that are scripted byte by byte."""

    def config(self, **values: object) -> Config:
        settings = {
            "http.agent.name": "mybot",
            "http.filter.ipaddress.allow.private": True,
            **{name.replace("_", "."): value for name, value in values.items()},
        }
        return Config.of(settings, files=self.files())

    def files(self) -> dict[str, str]:
        """Rule files by name."""
        return {
            "cookies.txt": "a.test\tid=7; b=8\n*.deep.test\tdeep=1\n",
            "auth.txt": "basic.test basic me secret\nbearer.test bearer abc\n"
            "digest.test digest me secret\n",
        }

    def plugin(self, resolver: Callable[[str], list[str]] | None = None, **values: Any) -> Any:
        """A plugin that finds every host on loopback."""
        found = resolver or (lambda host: ["127.0.0.1"])
        return self.plugin_class(self.config(**values), resolver=found)

    def response(self, plugin: Any, url: str, **request: Any) -> Response:
        answer = plugin.fetch(Request(url, **request))
        assert isinstance(answer, Response), answer
        return answer

    def failure(self, plugin: Any, url: str, **request: Any) -> Failure:
        answer = plugin.fetch(Request(url, **request))
        assert isinstance(answer, Failure), answer
        return answer

    @pytest.fixture
    def server(self) -> Iterator[ScriptedServer]:
        with scripted_server() as server:
            yield server

    # --- what is said ------------------------------------------------------------------

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
        asked = server.asked[0]
        assert asked.header("User-Agent") == "mybot/2.0 (tests; http://a.test/bot; bot@a.test)"
        assert asked.header("From") == "bot@a.test"
        assert asked.header("Accept").startswith("text/html")
        assert asked.header("Accept-Language").startswith("en-us")
        assert asked.header("Accept-Encoding") == "gzip, deflate, br, zstd"
        assert (asked.header("X-One"), asked.header("DNT")) == ("1", "1")
        assert asked.header("Host") == f"a.test:{server.port}"

    def test_heads_are_kept_byte_by_byte(self, server: ScriptedServer) -> None:
        server.page("/x?q=%7E", b"Fine", "X-Odd:  two  ", "Set-Cookie: a=1", "set-cookie: b=2")
        got = self.response(self.plugin(), server.url("/x?q=%7E#part"))
        assert got.request_headers == server.asked[0].raw
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
        got = self.response(self.plugin(), url, modified_since_ms=1_700_000_000_000, etag='"v1"')
        assert (got.code, got.body, got.header("ETag")) == (304, b"", '"v1"')
        assert server.asked[0].header("If-Modified-Since") == "Tue, 14 Nov 2023 22:13:20 GMT"
        assert server.asked[0].header("If-None-Match") == '"v1"'

    def test_headers_of_the_request_cannot_add_lines(self, server: ScriptedServer) -> None:
        headers = (("Cookie", "a=1\r\nX-Evil: 1"), ("Bad Name\r\nX-Evil", "1"), ("X-Ü", "1"))
        self.response(self.plugin(), server.url(), headers=headers, etag="x\nX-Evil: 2")
        assert server.asked[0].header("Cookie").startswith("a=1")
        assert server.asked[0].header("X-Evil") == ""

    def test_cookies_by_host(self, server: ScriptedServer) -> None:
        plugin = self.plugin(http_agent_host_cookie_file="cookies.txt")
        for host in ("a.test", "b.test", "x.deep.test"):
            self.response(plugin, server.url("/", host))
        self.response(plugin, server.url(), headers=(("Cookie", "mine=1"),))
        sent = [asked.header("Cookie") for asked in server.asked]
        assert sent == ["id=7; b=8", "", "deep=1", "mine=1"]

    def test_no_cookie_is_kept(self, server: ScriptedServer) -> None:
        server.page("/", b"Fine", "Set-Cookie: id=1; Path=/")
        plugin = self.plugin()
        self.response(plugin, server.url())
        self.response(plugin, server.url())
        assert [asked.header("Cookie") for asked in server.asked] == ["", ""]

    def test_credentials_by_host(self, server: ScriptedServer) -> None:
        plugin = self.plugin(http_auth_file="auth.txt")
        for host in ("basic.test", "bearer.test", "a.test"):
            self.response(plugin, server.url("/", host))
        sent = [asked.header("Authorization") for asked in server.asked]
        assert sent == ["Basic bWU6c2VjcmV0", "Bearer abc", ""]

    def test_digest(self, server: ScriptedServer) -> None:
        challenge = 'WWW-Authenticate: Digest realm="r", nonce="n", qop="auth", algorithm=MD5'
        turns = iter([honest(b"", challenge, "Connection: close", code=401), honest(b"Inside")])
        server.answers["/"] = lambda connection: connection.sendall(next(turns))
        plugin = self.plugin(http_auth_file="auth.txt")
        got = self.response(plugin, server.url("/", "digest.test"))
        assert (got.code, got.body) == (200, b"Inside")
        assert len(server.asked) == 2
        answer = server.asked[1].header("Authorization")
        assert answer.startswith("Digest ") and 'username="me"' in answer
        assert got.request_headers == server.asked[1].raw

    def test_the_users_of_a_url_are_nobodys_business(self, server: ScriptedServer) -> None:
        self.response(self.plugin(), f"http://me:secret@a.test:{server.port}/")
        assert server.asked[0].header("Authorization") == ""

    # --- connections -------------------------------------------------------------------

    def test_a_connection_is_kept_for_the_host(self, server: ScriptedServer) -> None:
        server.page("/")
        plugin = self.plugin()
        self.response(plugin, server.url())
        thread = threading.Thread(target=self.response, args=(plugin, server.url()))
        thread.start()
        thread.join(ENOUGH)
        self.response(plugin, server.url("/", "b.test"))
        self.response(plugin, server.url())
        assert [asked.connection for asked in server.asked] == [1, 1, 2, 1]

    def test_a_server_that_keeps_for_a_second_is_not_trusted_with_it(
        self, server: ScriptedServer
    ) -> None:
        server.page("/", b"Fine", "Keep-Alive: timeout=1, max=100")
        now = [time.monotonic()]
        plugin = self.plugin_class(
            self.config(), resolver=lambda host: ["127.0.0.1"], monotonic=lambda: now[0]
        )
        self.response(plugin, server.url())
        now[0] += 1.2
        time.sleep(2.1)  # libcurl has a clock of its own
        self.response(plugin, server.url())
        assert [asked.connection for asked in server.asked] == [1, 2]

    def test_one_request_is_one_request(self, server: ScriptedServer) -> None:
        """Also where a kept connection breaks, after which clients like to send again."""
        server.page("/")
        server.answers["/drop"] = b""
        plugin = self.plugin()
        self.response(plugin, server.url())
        assert self.failure(plugin, server.url("/drop")).kind is FailureKind.DISCONNECTED
        assert [asked.target for asked in server.asked] == ["/", "/drop"]

    def test_a_redirect_is_an_answer(self, server: ScriptedServer) -> None:
        server.page("/", b"", "Location: /there", code=301)
        got = self.response(self.plugin(), server.url())
        assert (got.code, got.header("location")) == (301, "/there")
        assert len(server.asked) == 1

    def test_many_threads(self, server: ScriptedServer) -> None:
        for number in range(10):
            server.page(f"/{number}", str(number).encode() * 50_000)
        plugin = self.plugin()
        wrong: list[object] = []

        def fetch(thread: int) -> None:
            for number in range(10):
                got = plugin.fetch(Request(server.url(f"/{number}", f"h{thread % 4}.test")))
                if getattr(got, "body", b"") != str(number).encode() * 50_000:
                    wrong.append(got)

        threads = [threading.Thread(target=fetch, args=(n,)) for n in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(ENOUGH)
        assert wrong == [] and len(server.asked) == 120

    def test_ipv6(self) -> None:
        with scripted_server("::1") as server:
            server.page("/")
            plugin = self.plugin(lambda host: ["::1"])
            assert self.response(plugin, server.url()).ip == "::1"
            assert self.response(plugin, server.url("/", "[::1]")).code == 200

    def test_the_environment_is_not_asked(
        self, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
        monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
        server.page("/")
        assert self.response(self.plugin(), server.url()).code == 200

    def test_a_proxy_and_its_exceptions(self, server: ScriptedServer) -> None:
        def never(host: str) -> list[str]:
            raise AssertionError(host)

        url = "http://far.test/page"
        server.page(url, b"By proxy")
        server.page("/")
        plugin = self.plugin(
            lambda host: ["127.0.0.1"] if host == "near.test" else never(host),
            http_proxy_host="127.0.0.1",
            http_proxy_port=server.port,
            http_proxy_exception_list=["near.test"],
        )
        assert self.response(plugin, url).body == b"By proxy"
        assert self.response(plugin, server.url("/", "near.test")).body == b"Fine"
        assert [asked.target for asked in server.asked] == [url, "/"]

    def test_a_proxy_that_is_not_there(self) -> None:
        plugin = self.plugin(http_proxy_host="127.0.0.1", http_proxy_port=1)
        assert self.failure(plugin, "http://far.test/").kind is FailureKind.PROXY

    # --- addresses ---------------------------------------------------------------------

    @pytest.mark.parametrize(
        "host",
        ["127.0.0.1", "2130706433", "0x7f.1", "017700000001", "[::1]", "[::ffff:127.0.0.1]", "0"],
    )
    def test_inner_addresses_are_refused(self, server: ScriptedServer, host: str) -> None:
        plugin = self.plugin(http_filter_ipaddress_allow_private=False)
        got = self.failure(plugin, server.url("/", host))
        assert got.kind is FailureKind.ADDRESS_REFUSED and got.sent == 0
        assert server.asked == []

    def test_a_host_with_an_inner_address_is_refused(self, server: ScriptedServer) -> None:
        plugin = self.plugin(http_filter_ipaddress_allow_private=False)
        got = self.failure(plugin, server.url("/", "rebind.test"))
        assert got.kind is FailureKind.ADDRESS_REFUSED and "loopback" in got.message
        assert server.asked == []

    def test_the_address_judged_is_the_address_asked(self, server: ScriptedServer) -> None:
        answers = iter([["127.0.0.1"], ["127.0.0.9"]])
        plugin = self.plugin(lambda host: next(answers))
        for _ in range(2):
            assert self.response(plugin, server.url("/", "rebind.test")).ip == "127.0.0.1"
        assert next(answers) == ["127.0.0.9"]

    def test_a_hosts_file_serves_where_no_resolver_can_be_passed(
        self, server: ScriptedServer
    ) -> None:
        config = Config.of(
            {
                "http.agent.name": "mybot",
                "http.filter.ipaddress.include": "loopback",
                "http.resolver.hosts.file": "hosts",
            },
            files={"hosts": "127.0.0.1 *.test"},
        )
        assert self.response(self.plugin_class(config), server.url()).code == 404

    def test_an_unknown_host(self) -> None:
        def unknown(host: str) -> list[str]:
            raise socket.gaierror(-2, "Name or service not known")

        got = self.failure(self.plugin(unknown), "http://nobody.test/")
        assert got.kind is FailureKind.UNKNOWN_HOST and "nobody.test" in got.message

    def test_nobody_listens(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
        got = self.failure(self.plugin(), f"http://a.test:{port}/")
        assert got.kind is FailureKind.CONNECT_REFUSED and got.sent == 0

    def test_the_next_address_is_tried_next(self, server: ScriptedServer) -> None:
        server.page("/")
        plugin = self.plugin(lambda host: ["127.0.0.77", "127.0.0.1"])
        assert self.failure(plugin, server.url()).kind is FailureKind.CONNECT_REFUSED
        assert self.response(plugin, server.url()).ip == "127.0.0.1"

    def test_any_text_is_answered(self) -> None:
        nobody = {"http_filter_ipaddress_include": "127.0.0.77", "http_timeout": 1000}
        plugin = self.plugin(lambda host: [], **nobody)  # among these are real addresses
        for url in wicked_urls():
            assert isinstance(plugin.fetch(Request(url)), Failure), url

    # --- bodies ------------------------------------------------------------------------

    @pytest.mark.parametrize(
        ("encoding", "pack"),
        [
            ("gzip", gzip.compress),
            ("x-gzip", gzip.compress),
            ("deflate", zlib.compress),
            ("deflate", lambda data: zlib.compress(data, wbits=-15)),
            ("identity", bytes),
            ("gzip, deflate", lambda data: zlib.compress(gzip.compress(data))),
        ],
    )
    def test_encodings(
        self, server: ScriptedServer, encoding: str, pack: Callable[[bytes], bytes]
    ) -> None:
        plain = b"<p>" + bytes(range(256)) * 300
        server.page("/", pack(plain), f"Content-Encoding: {encoding}")
        got = self.response(self.plugin(), server.url())
        assert got.body == plain and not got.truncated
        assert got.header("Content-Encoding") == encoding

    @pytest.mark.parametrize(
        "encoding", ["gzip", "br", "zstd", "deflate", "compress", "gzip" + ",gzip" * 9]
    )
    def test_what_cannot_be_unpacked(self, server: ScriptedServer, encoding: str) -> None:
        server.page("/", b"\xff\xfeThis is not packed at all", f"Content-Encoding: {encoding}")
        assert self.failure(self.plugin(), server.url()).kind is FailureKind.BAD_ENCODING

    def test_an_empty_body_is_in_any_encoding(self, server: ScriptedServer) -> None:
        server.page("/", b"", "Content-Encoding: gzip")
        got = self.response(self.plugin(), server.url())
        assert (got.body, got.truncated) == (b"", Truncation.WHOLE)

    def test_the_limit_holds_on_the_wire_and_unpacked(self, server: ScriptedServer) -> None:
        server.page("/fits", b"x" * 1000)
        server.page("/long", b"x" * 1001)
        server.page("/bomb", gzip.compress(bytes(5_000_000)), "Content-Encoding: gzip")
        noise = bytes(zlib.crc32(str(n).encode()) & 0xFF for n in range(3000))
        server.page("/wire", gzip.compress(noise), "Content-Encoding: gzip")
        plugin = self.plugin(http_content_limit=1000)
        fits = self.response(plugin, server.url("/fits"))
        assert (len(fits.body), fits.truncated) == (1000, Truncation.WHOLE)
        for path in ("/long", "/bomb", "/wire"):
            got = self.response(plugin, server.url(path))
            assert len(got.body) <= 1000 and got.truncated is Truncation.LENGTH, path
        assert len(self.response(plugin, server.url("/long")).body) == 1000

    def test_a_request_may_bring_its_own_limit(self, server: ScriptedServer) -> None:
        server.page("/", b"x" * 1000)
        got = self.response(self.plugin(), server.url(), max_bytes=10)
        assert (got.body, got.truncated) == (b"x" * 10, Truncation.LENGTH)
        plugin = self.plugin(http_content_limit=10)
        assert not self.response(plugin, server.url(), max_bytes=1000).truncated

    def test_an_endless_body_is_left_at_the_limit(self, server: ScriptedServer) -> None:
        server.answers["/"] = _then_repeat(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 65536)
        got = self.response(self.plugin(), server.url())
        assert (len(got.body), got.truncated) == (1024 * 1024, Truncation.LENGTH)

    def test_chunks(self, server: ScriptedServer) -> None:
        head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        server.answers["/"] = head + b"3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nX-After: 1\r\n\r\n"
        server.answers["/cut"] = _then_close(head + b"3\r\nabc\r\n")
        plugin = self.plugin()
        got = self.response(plugin, server.url())
        assert (got.body, got.truncated) == (b"abcde", Truncation.WHOLE)
        assert got.response_headers == head
        assert self.response(plugin, server.url()).body == b"abcde"
        cut = self.response(plugin, server.url("/cut"))
        assert (cut.body, cut.truncated) == (b"abc", Truncation.DISCONNECT)

    def test_a_body_that_breaks_off(self, server: ScriptedServer) -> None:
        server.answers["/"] = _then_close(honest(b"x" * 100)[:-40])
        server.answers["/reset"] = _then_reset(honest(b"x" * 100)[:-40])
        packed = gzip.compress(bytes(range(256)) * 100)
        server.page("/gzip", packed[:-30], "Content-Encoding: gzip")
        plugin = self.plugin()
        for path in ("/", "/reset"):
            got = self.response(plugin, server.url(path))
            assert (got.body, got.truncated) == (b"x" * 60, Truncation.DISCONNECT), path
        assert self.response(plugin, server.url("/gzip")).truncated is Truncation.DISCONNECT

    def test_provisional_answers_are_passed_over(self, server: ScriptedServer) -> None:
        early = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n"
        server.answers["/"] = b"HTTP/1.1 100 Continue\r\n\r\n" + early + honest(b"Fine")
        got = self.response(self.plugin(), server.url())
        assert (got.code, got.body) == (200, b"Fine")
        assert got.response_headers + b"Fine" == honest(b"Fine") and not got.header("Link")

    # --- limits ------------------------------------------------------------------------

    @pytest.mark.parametrize(
        ("answer", "kind"),
        [
            (b"", FailureKind.DISCONNECTED),
            (b"HTTP/1.1 200 OK\r\nX: 1\r\n", FailureKind.DISCONNECTED),
            (b"Good morning!\r\n\r\n", FailureKind.MALFORMED_RESPONSE),
            (b"HTTP/1.1 nine OK\r\n\r\n", FailureKind.MALFORMED_RESPONSE),
        ],
    )
    def test_no_answer(self, server: ScriptedServer, answer: bytes, kind: FailureKind) -> None:
        server.answers["/"] = _then_close(answer)
        got = self.failure(self.plugin(), server.url())
        assert got.kind is kind and got.sent > 0 and got.message.isprintable()

    def test_large_headers(self, server: ScriptedServer) -> None:
        server.page("/fits", b"Fine", "X-Long: " + "x" * 8000)
        server.page("/long", b"Fine", *["X-Long: " + "x" * 8000] * 10)
        server.answers["/endless"] = _then_repeat(b"HTTP/1.1 200 OK\r\n", b"X-Long: xxxxxxxx\r\n")
        plugin = self.plugin()
        assert self.response(plugin, server.url("/fits")).code == 200
        for path in ("/long", "/endless"):
            got = self.failure(plugin, server.url(path))
            assert got.kind is FailureKind.HEADERS_TOO_LARGE, path

    def test_no_first_byte(self, server: ScriptedServer) -> None:
        server.answers["/"] = _then_wait(b"")
        got = self.failure(self.plugin(http_first_byte_timeout=300), server.url())
        assert got.kind is FailureKind.FIRST_BYTE_TIMEOUT and got.sent > 0
        assert got.elapsed_ms >= 300

    def test_dripping_is_too_slow(self, server: ScriptedServer) -> None:
        server.answers["/head"] = _drip(b"HTTP/1.1 200 OK\r\n", b"X: 1\r\n")
        server.answers["/body"] = _drip(b"HTTP/1.1 200 OK\r\n\r\n", b"xxx")
        plugin = self.plugin(http_low_speed_time="900ms", http_low_speed_limit=100)
        for path in ("/head", "/body"):
            assert self.failure(plugin, server.url(path)).kind is FailureKind.LOW_SPEED, path

    def test_the_whole_time(self, server: ScriptedServer) -> None:
        server.answers["/head"] = _drip(b"HTTP/1.1 200 OK\r\n", b"X: 1\r\n")
        server.answers["/body"] = _drip(b"HTTP/1.1 200 OK\r\n\r\n", b"xxx")
        plugin = self.plugin(http_time_limit="800ms", http_low_speed_limit=0)
        assert self.failure(plugin, server.url("/head")).kind is FailureKind.TOTAL_TIMEOUT
        got = self.response(plugin, server.url("/body"))
        assert got.truncated is Truncation.TIME and got.body.startswith(b"xxx")

    def test_one_wait_for_everything(self, server: ScriptedServer) -> None:
        server.answers["/"] = _then_wait(b"")
        got = self.failure(self.plugin(http_timeout=1000), server.url())
        assert got.kind is FailureKind.FIRST_BYTE_TIMEOUT


def _then_close(data: bytes) -> Callable[[socket.socket], None]:
    return lambda connection: connection.sendall(data)


def _then_reset(data: bytes) -> Callable[[socket.socket], None]:
    def serve(connection: socket.socket) -> None:
        connection.sendall(data)
        time.sleep(0.1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    return serve


def _then_wait(data: bytes) -> Callable[[socket.socket], None]:
    def serve(connection: socket.socket) -> None:
        connection.sendall(data)
        connection.settimeout(ENOUGH)
        connection.recv(1)

    return serve


def _then_repeat(data: bytes, again: bytes) -> Callable[[socket.socket], None]:
    def serve(connection: socket.socket) -> None:
        connection.sendall(data)
        while True:
            connection.sendall(again)

    return serve


def _drip(data: bytes, drop: bytes) -> Callable[[socket.socket], None]:
    def serve(connection: socket.socket) -> None:
        connection.sendall(data)
        for _ in range(100):
            connection.sendall(drop)
            time.sleep(0.2)

    return serve
