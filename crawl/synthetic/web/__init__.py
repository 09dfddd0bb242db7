"""A synthetic web on loopback whose truth can be asked, and whose server tells who asked what.

with running(Web(Settings(sites=20, pages=1000))) as server:
    crawl(server.web.seeds(), resolve=server.resolve)
    assert not disallowed(server.requests(), server.web, "mybot")
"""

from crawl.synthetic.web.audit import (
    RequestGap,
    before_robots,
    by_ip,
    concurrency,
    disallowed,
    duplicates,
    gaps,
)
from crawl.synthetic.web.kinds import PageKind, RobotsKind, SitemapStyle
from crawl.synthetic.web.log import LogEntry
from crawl.synthetic.web.server import WebServer, running
from crawl.synthetic.web.settings import Settings
from crawl.synthetic.web.sitemap_facts import SitemapFacts
from crawl.synthetic.web.web import ExpectedAnswer, Web

__all__ = [
    "ExpectedAnswer",
    "LogEntry",
    "PageKind",
    "RequestGap",
    "RobotsKind",
    "Settings",
    "SitemapFacts",
    "SitemapStyle",
    "Web",
    "WebServer",
    "before_robots",
    "by_ip",
    "concurrency",
    "disallowed",
    "duplicates",
    "gaps",
    "running",
]
