"""A server on loopback that does to a fetcher whatever can be done to one.

`routes` has the table: what each does, what a fetcher must do, how a fetch may end.

    with running_wicked() as server:
        for route in ROUTES:
            answer = fetch(server.url(route.name), resolve=server.resolve)
"""

from crawl.synthetic.wicked.exchange import FetchEnd, Route
from crawl.synthetic.wicked.routes import HOSTS, ROUTES, table
from crawl.synthetic.wicked.server import WickedServer, running_wicked

__all__ = ["HOSTS", "ROUTES", "FetchEnd", "Route", "WickedServer", "running_wicked", "table"]
