"""Many requests in one thread keep to all that `fetch` promises, one by one and together."""

from __future__ import annotations

import socket
import threading
from typing import Any

import pytest

from crawl.config import Config
from crawl.interfaces.protocol import Failure, FailureKind, Multiplexing, Request, Response
from crawl.plugins.protocol.http import HttpProtocol
from crawl.plugins.protocol.shared.proxies import PROXY_FILE, PROXY_HOST
from crawl.plugins.protocol.shared.target import request_target
from crawl.synthetic.wicked import HOSTS, WickedServer
from crawl.testing.protocol_contract import HttpContract
from tests.plugins.protocol.test_wicked import BUSY_MS, EXPECTED, TIME_LIMIT_MS, ended


class ByTransfers(HttpProtocol):
    """A protocol that fetches by transfers, as a driver does, once the host is resolved."""

    def __init__(self, config: Config, **others: Any) -> None:
        super().__init__(config, **others)
        self._lock = threading.Lock()
        self._driver = self.transfers()
        self._direct = not (config[PROXY_HOST] or config[PROXY_FILE])

    def fetch(self, request: Request) -> Response | Failure:
        target = request_target(request.url)
        if target is not None and self._direct:
            self.resolver.locate(target.server.host)
        with self._lock:
            assert self._driver.advance(0) == []  # a driver looks between two requests
            if self._driver.begin(request, request):
                while not (ended := self._driver.advance(None)):
                    pass
                ((ticket, answer),) = ended
                assert ticket is request
                return answer
        return super().fetch(request)


class TestContract(HttpContract):
    plugin_class = ByTransfers


def protocol(server: WickedServer, **settings: object) -> HttpProtocol:
    config = Config.of(
        {
            "http.agent.name": "mybot",
            "http.filter.ipaddress.allow.private": True,
            "http.timeout": 3000,
            "http.time.limit": f"{TIME_LIMIT_MS}ms",
            **settings,
        }
    )
    return HttpProtocol(config, resolver=lambda host: [server.resolve(host)])


@pytest.fixture
def server(wicked: WickedServer) -> WickedServer:
    return wicked


@pytest.mark.slow
def test_every_wicked_route_at_once_in_one_thread(server: WickedServer) -> None:
    plugin = protocol(server)
    assert isinstance(plugin, Multiplexing)
    transfers = plugin.transfers()
    answers: dict[object, Response | Failure] = {}
    for name in EXPECTED:
        target = request_target(server.url(name))
        assert target is not None
        plugin.resolver.locate(target.server.host)
        assert transfers.begin(Request(server.url(name)), name)
    while len(answers) < len(EXPECTED):
        answers.update(transfers.advance(None))
    transfers.close()
    plugin.close()
    wrong = {name: answers[name] for name in EXPECTED if ended(answers[name]) not in EXPECTED[name]}
    assert wrong == {}
    assert max(answer.elapsed_ms for answer in answers.values()) <= TIME_LIMIT_MS + BUSY_MS


def test_a_host_that_must_be_looked_up_is_left_to_a_thread(server: WickedServer) -> None:
    plugin = protocol(server)
    transfers = plugin.transfers()
    name = next(name for name in EXPECTED if name not in HOSTS)
    assert not transfers.begin(Request(server.url(name)), 1)
    assert not transfers.begin(Request("ftp://ftp.example.org/"), 2)
    transfers.close()
    plugin.close()


def test_a_refused_address_is_an_answer_without_a_transfer(server: WickedServer) -> None:
    plugin = protocol(server, **{"http.filter.ipaddress.allow.private": False})
    transfers = plugin.transfers()
    plugin.resolver.locate("a.example.org")
    assert transfers.begin(Request("http://a.example.org/"), "it")
    ((ticket, answer),) = transfers.advance(None)
    assert ticket == "it"
    assert isinstance(answer, Failure)
    assert answer.kind is FailureKind.ADDRESS_REFUSED
    transfers.close()
    plugin.close()


def test_another_thread_ends_the_waiting(server: WickedServer) -> None:
    plugin = protocol(server)
    transfers = plugin.transfers()
    threading.Timer(0.05, transfers.wake).start()
    assert transfers.advance(None) == []
    transfers.close()
    transfers.wake()  # of no use, and no harm
    plugin.close()


def test_servers_that_are_silent_together_are_waited_for_together() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        place = f"127.0.0.1:{listener.getsockname()[1]}"
        config = {
            "http.agent.name": "mybot",
            "http.filter.ipaddress.allow.private": True,
            "http.timeout": 2000,
        }
        plugin = HttpProtocol(Config.of(config))
        transfers = plugin.transfers()
        for each in range(5):
            assert transfers.begin(Request(f"http://{place}/{each}"), each)
        answers: dict[object, Response | Failure] = {}
        while len(answers) < 5:
            answers.update(transfers.advance(0.5))
        transfers.close()
        plugin.close()
    kinds = {answer.kind for answer in answers.values() if isinstance(answer, Failure)}
    assert kinds == {FailureKind.FIRST_BYTE_TIMEOUT}
    # not two waits, for a connection and for a byte, one after the other
    assert max(answer.elapsed_ms for answer in answers.values()) < 3900
