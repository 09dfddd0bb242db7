"""Which servers an HTTP plugin connects to, and by which connections."""

from __future__ import annotations

import socket
import threading
import time

import pytest

from crawl.config import Config
from crawl.interfaces.protocol import Failure, FailureKind, Request
from crawl.testing.http.case import ENOUGH, HttpCase
from crawl.testing.inputs.wicked_urls import wicked_urls
from crawl.testing.servers.scripted_server import ScriptedServer, honest, scripted_server


class HttpConnectionContract(HttpCase):
    """The part of HttpContract about connections."""

    def test_a_connection_is_kept_for_the_host(self, server: ScriptedServer) -> None:
        server.page("/")
        plugin = self.plugin()
        self.response(plugin, server.url())
        thread = threading.Thread(target=self.response, args=(plugin, server.url()))
        thread.start()
        thread.join(ENOUGH)
        self.response(plugin, server.url("/", "b.test"))
        self.response(plugin, server.url())
        assert [request.connection for request in server.requests] == [1, 1, 2, 1]

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
        assert [request.connection for request in server.requests] == [1, 2]

    def test_a_connection_that_the_server_closed_is_not_used_again(
        self, server: ScriptedServer
    ) -> None:
        def closing(connection: socket.socket) -> None:
            connection.sendall(honest(b"Fine"))
            connection.shutdown(socket.SHUT_RDWR)

        server.answers["/"] = closing
        plugin = self.plugin()
        for _ in range(3):
            self.response(plugin, server.url())
            time.sleep(0.1)  # the end has to arrive
        assert [request.connection for request in server.requests] == [1, 2, 3]

    def test_one_request_is_one_request(self, server: ScriptedServer) -> None:
        """Also where a kept connection breaks, after which clients like to send again."""
        server.page("/")
        server.answers["/drop"] = b""
        plugin = self.plugin()
        self.response(plugin, server.url())
        assert self.failure(plugin, server.url("/drop")).kind is FailureKind.STALE_CONNECTION
        assert self.failure(plugin, server.url("/drop")).kind is FailureKind.DISCONNECTED
        assert [request.target for request in server.requests] == ["/", "/drop", "/drop"]
        assert [request.connection > 1 for request in server.requests] == [False, False, True]

    def test_a_redirect_is_an_answer(self, server: ScriptedServer) -> None:
        server.page("/", b"", "Location: /there", code=301)
        got = self.response(self.plugin(), server.url())
        assert (got.code, got.header("location")) == (301, "/there")
        assert len(server.requests) == 1

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
        assert wrong == [] and len(server.requests) == 120

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
        assert [request.target for request in server.requests] == [url, "/"]

    def test_a_proxy_that_is_not_there(self) -> None:
        plugin = self.plugin(http_proxy_host="127.0.0.1", http_proxy_port=1)
        assert self.failure(plugin, "http://far.test/").kind is FailureKind.PROXY

    @pytest.mark.parametrize(
        "host",
        [
            *("localhost", "a.localhost", "LOCALHOST.", "127.1", "[::1]", "0", "10.0.0.1"),
            *("metadata.google.internal", "169.254.169.254", "[64:ff9b::a9fe:a9fe]"),
        ],
    )
    def test_no_proxy_is_asked_for_inner_hosts(self, server: ScriptedServer, host: str) -> None:
        plugin = self.plugin(
            http_proxy_host="127.0.0.1",
            http_proxy_port=server.port,
            http_filter_ipaddress_allow_private=False,
        )
        got = self.failure(plugin, f"http://{host}/")
        assert got.kind is FailureKind.ADDRESS_REFUSED and got.sent == 0
        assert server.requests == []

    @pytest.mark.parametrize(
        "host",
        ["127.0.0.1", "2130706433", "0x7f.1", "017700000001", "[::1]", "[::ffff:127.0.0.1]", "0"],
    )
    def test_inner_addresses_are_refused(self, server: ScriptedServer, host: str) -> None:
        plugin = self.plugin(http_filter_ipaddress_allow_private=False)
        got = self.failure(plugin, server.url("/", host))
        assert got.kind is FailureKind.ADDRESS_REFUSED and got.sent == 0
        assert server.requests == []

    def test_a_host_with_an_inner_address_is_refused(self, server: ScriptedServer) -> None:
        plugin = self.plugin(http_filter_ipaddress_allow_private=False)
        got = self.failure(plugin, server.url("/", "rebind.test"))
        assert got.kind is FailureKind.ADDRESS_REFUSED and "loopback" in got.message
        assert server.requests == []

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
