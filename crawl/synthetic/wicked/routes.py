"""Every wicked route, and every wicked host; `table` shows them all.

A route is on every host under wicked.test, so that a test can give each its own queue.
"""

from __future__ import annotations

from crawl.interfaces.protocol import FailureKind, Truncation
from crawl.synthetic.wicked.body_routes import BODY_ROUTES
from crawl.synthetic.wicked.exchange import FINE, FetchEnd, Route, page
from crawl.synthetic.wicked.header_routes import HEADER_ROUTES
from crawl.synthetic.wicked.redirect_routes import REDIRECT_ROUTES
from crawl.synthetic.wicked.time_routes import TIME_ROUTES
from crawl.synthetic.wicked.trap_routes import TRAP_ROUTES

ROUTES: tuple[Route, ...] = (
    *TIME_ROUTES,
    *BODY_ROUTES,
    *HEADER_ROUTES,
    *REDIRECT_ROUTES,
    *TRAP_ROUTES,
    Route("/fine", "an honest page, to compare with", "take it", (200,), page(FINE, keep=True)),
)
BY_NAME: dict[str, Route] = {route.name: route for route in ROUTES}

ADDRESSES = tuple(f"127.0.0.{n}" for n in range(100, 120))
"""Where all hosts are but these."""
HOSTS: dict[str, tuple[str, str, FailureKind]] = {
    "reset.wicked.test": (
        "127.0.0.121",
        "resets every connection when it is accepted",
        FailureKind.DISCONNECTED,
    ),
    "deaf.wicked.test": (
        "127.0.0.122",
        "never completes a connection",
        FailureKind.CONNECT_TIMEOUT,
    ),
    "refused.wicked.test": ("127.0.0.123", "listens on no port", FailureKind.CONNECT_REFUSED),
}
"""Hosts that are wicked before a path is known → their address, what they do, how it ends."""


def find_route(path: str) -> Route | None:
    """The route at whose path, or below it, the path is."""
    for route in ROUTES:
        if path == route.path or path.startswith(route.path + "/"):
            return route
    return None


def table() -> str:
    """All of it, in Markdown."""
    rows = [("route", "what it does", "what a fetcher must do", "may end as")]
    rows.append(("---",) * 4)
    rows += ((route.path, route.does, route.must, _ends(route.ends)) for route in ROUTES)
    rows += ((name, does, "count it", kind) for name, (_, does, kind) in HOSTS.items())
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _ends(ends: tuple[FetchEnd, ...]) -> str:
    return ", ".join(f"cut by {end}" if isinstance(end, Truncation) else str(end) for end in ends)
