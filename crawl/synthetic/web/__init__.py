"""A synthetic web on loopback whose truth can be asked, and whose server tells who asked what.

with running(Web(Settings(sites=20, pages=1000))) as server:
    crawl(server.web.seeds(), resolve=server.resolve)
    assert not disallowed(server.requests(), server.web, "mybot")
"""

from crawl.synthetic.web.audit import (
    Gap,
    before_robots,
    by_host,
    by_ip,
    concurrency,
    disallowed,
    duplicates,
    gaps,
)
from crawl.synthetic.web.kinds import Kind, RobotsKind
from crawl.synthetic.web.log import Entry
from crawl.synthetic.web.reach import Reach, reachable
from crawl.synthetic.web.server import WebServer, running
from crawl.synthetic.web.settings import Settings
from crawl.synthetic.web.web import EPOCH, Expected, Web

__all__ = [
    "EPOCH",
    "Entry",
    "Expected",
    "Gap",
    "Kind",
    "Reach",
    "RobotsKind",
    "Settings",
    "Web",
    "WebServer",
    "before_robots",
    "by_host",
    "by_ip",
    "concurrency",
    "disallowed",
    "duplicates",
    "gaps",
    "reachable",
    "running",
]
