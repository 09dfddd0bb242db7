from __future__ import annotations

from crawl.plugins.protocol.http import HttpProtocol
from crawl.testing.protocol_contract import HttpContract


class TestContract(HttpContract):
    plugin_class = HttpProtocol
