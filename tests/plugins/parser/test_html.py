from __future__ import annotations

from crawl.plugins.parser.html import HtmlParser
from crawl.testing.html_contract import HtmlContract


class TestContract(HtmlContract):
    plugin_class = HtmlParser
