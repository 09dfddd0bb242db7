from __future__ import annotations

from typing import ClassVar

import pytest

from crawl.config import Config
from crawl.errors import PluginError
from crawl.fetcher.drivers.protocols import Protocols, ask, resolved_protocols
from crawl.interfaces.protocol import Failure, FailureKind, Request, Response
from crawl.interfaces.registry import ResolvedPlugin
from crawl.testing.clock import ManualClock


class One:
    """A protocol of two schemes whose status code tells it from the others."""

    schemes: tuple[str, ...] = ("http", "https")
    code = 201
    closed: ClassVar[list[str]] = []

    def __init__(self, config: Config) -> None:
        pass

    def fetch(self, request: Request) -> Response | Failure:
        return Response(request.url, self.code)

    def close(self) -> None:
        self.closed.append(type(self).__name__)


class Other(One):
    schemes = ("https", "ftp")
    code = 202


def plugin(name: str) -> ResolvedPlugin:
    return ResolvedPlugin("protocol", name.lower(), f"{__name__}:{name}")


def code_of(protocols: Protocols, url: str) -> int:
    answer = protocols.fetch(Request(url))
    assert isinstance(answer, Response)
    return answer.code


def test_the_first_that_speaks_a_scheme_is_used() -> None:
    protocols = Protocols([plugin("One"), plugin("Other")], Config())
    assert code_of(protocols, "http://a.org/") == 201
    assert code_of(protocols, "https://a.org/") == 201
    assert code_of(protocols, "HTTPS://a.org/") == 201
    assert code_of(protocols, "ftp://a.org/") == 202
    turned = Protocols([plugin("Other"), plugin("One")], Config())
    assert code_of(turned, "https://a.org/") == 202
    assert code_of(turned, "http://a.org/") == 201


@pytest.mark.parametrize("url", ["gopher://a.org/", "no url", ""])
def test_what_nobody_speaks_is_a_failure_with_a_reason(url: str) -> None:
    answer = Protocols([plugin("One")], Config()).fetch(Request(url))
    assert isinstance(answer, Failure)
    assert answer.kind is FailureKind.NOT_SUPPORTED
    assert answer.sent == 0.0, "nothing was sent, so no pause is due"


def test_all_are_closed() -> None:
    One.closed.clear()
    Protocols([plugin("One"), plugin("Other")], Config()).close()
    assert sorted(One.closed) == ["One", "Other"]


def test_the_configured_ones_are_found() -> None:
    [found] = resolved_protocols(Config())
    assert found.name == "http"
    with pytest.raises(PluginError, match="gopher"):
        resolved_protocols(Config.of({"plugin.protocol": "gopher"}))


def test_a_request_that_is_taken_back_is_not_given_to_its_protocol() -> None:
    def fetch(request: Request) -> Response | Failure:
        raise AssertionError("it must not be asked")

    def taken_back() -> str:
        return "lease ended"

    request = Request("ftp://a.org/", why_withheld=taken_back)
    answer = ask(fetch, request, ManualClock())
    assert answer == Failure("ftp://a.org/", FailureKind.WITHHELD, "lease ended")
