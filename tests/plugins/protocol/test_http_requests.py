from __future__ import annotations

from crawl.plugins.protocol.http_requests import RequestsProtocol
from crawl.testing.protocol_contract import HttpContract


class TestContract(HttpContract):
    plugin_class = RequestsProtocol
