"""Both HTTP plugins against the whole wicked server, many routes at the same time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from crawl.config import Config
from crawl.interfaces.protocol import Failure, FailureKind, Request, Response
from crawl.plugins.protocol.http import HttpProtocol
from crawl.plugins.protocol.http_requests import RequestsProtocol
from crawl.synthetic.wicked import HOSTS, ROUTES, FetchEnd, WickedServer

pytestmark = pytest.mark.slow

EXPECTED: dict[str, tuple[FetchEnd, ...]] = {
    **{route.name: route.ends for route in ROUTES},
    **{name: (kind,) for name, (_, _, kind) in HOSTS.items()},
    # two different Locations are refused as such
    "redirect-twice": (FailureKind.MALFORMED_RESPONSE,),
}
EXPECTED = {
    # what it refuses is asked for once more, and read by another client
    name: (*ends, FailureKind.REFUSED_HEAD) if FailureKind.MALFORMED_RESPONSE in ends else ends
    for name, ends in EXPECTED.items()
}
TIME_LIMIT_MS = 8000
BUSY_MS = 60_000
"""What a busy machine may add; without a limit a drip takes hours."""


@pytest.fixture
def server(wicked: WickedServer) -> WickedServer:
    return wicked


def ended(answer: Response | Failure) -> FetchEnd:
    if isinstance(answer, Failure):
        return answer.kind
    return answer.truncated or answer.code


@pytest.mark.parametrize("plugin_class", [HttpProtocol, RequestsProtocol])
def test_every_route_ends_as_it_may_and_in_time(plugin_class: Any, server: WickedServer) -> None:
    config = Config.of(
        {
            "http.agent.name": "mybot",
            "http.filter.ipaddress.allow.private": True,
            "http.timeout": 3000,
            "http.time.limit": f"{TIME_LIMIT_MS}ms",
        }
    )
    plugin = plugin_class(config, resolver=lambda host: [server.resolve(host)])
    with ThreadPoolExecutor(16) as threads:
        answers = list(threads.map(lambda name: plugin.fetch(Request(server.url(name))), EXPECTED))
    plugin.close()
    wrong = {
        name: (ended(answer), answer)
        for name, answer in zip(EXPECTED, answers, strict=True)
        if ended(answer) not in EXPECTED[name]
    }
    assert wrong == {}
    assert max(answer.elapsed_ms for answer in answers) <= TIME_LIMIT_MS + BUSY_MS
    assert max(len(answer.body) for answer in answers if isinstance(answer, Response)) <= 1 << 20
