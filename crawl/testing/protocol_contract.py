"""What every protocol plugin must keep to; subclass it in your own tests:

class TestMine(HttpContract):
    plugin_class = MyProtocol

The plugin takes a keyword `resolver`, so that hosts of the tests are on loopback.
"""

from __future__ import annotations

from crawl.interfaces.protocol import Failure, FailureKind, FetchProtocol, Request
from crawl.testing.http.bad_servers import HttpBadServerContract
from crawl.testing.http.connections import HttpConnectionContract
from crawl.testing.http.odd_responses import HttpOddResponseContract
from crawl.testing.http.requests import HttpRequestContract
from crawl.testing.http.responses import HttpResponseContract
from crawl.testing.plugin_contract import PluginContract


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
        there = self.make_on_executor()
        assert there.schemes == self.make().schemes
        there.close()


class HttpContract(
    HttpRequestContract,
    HttpConnectionContract,
    HttpResponseContract,
    HttpOddResponseContract,
    HttpBadServerContract,
    ProtocolContract,
):
    """Tests for pytest, on servers of loopback that are scripted byte by byte."""
