"""Wicked routes that abuse redirects: loops, mazes, and targets that must never be asked."""

from __future__ import annotations

from hashlib import blake2b

from crawl.interfaces.protocol import FailureKind
from crawl.synthetic.wicked.exchange import Exchange, Route, page, redirects

_REFUSED = "record the redirect and never ask its target"
FORBIDDEN_TARGETS: dict[str, str] = {
    "private": "http://10.0.0.1/",
    "metadata": "http://169.254.169.254/latest/meta-data/",
    "loopback6": "http://[::1]/",
    "decimal": "http://2130706433/",
    "mapped": "http://[::ffff:10.0.0.1]/",
    "file": "file:///etc/passwd",
    "javascript": "javascript:alert(1)",
    "data": "data:text/html,<title>Wicked</title>",
    "ftp": "ftp://10.0.0.1/",
    "gopher": "gopher://10.0.0.1:25/_HELO",
}
"""Route below /redirect/ → the Location that it sends."""


def _loop(exchange: Exchange) -> str:
    return "/redirect/loop/b" if exchange.path.endswith("/loop") else "/redirect/loop"


def _itself(exchange: Exchange) -> str:
    return f"{exchange.origin}{exchange.target}#again"


def _maze(exchange: Exchange) -> str:
    deeper = blake2b(exchange.path.encode(), digest_size=8).hexdigest()
    return f"{exchange.origin}/redirect/maze/{deeper}"


def _hosts(exchange: Exchange) -> str:
    name = blake2b(exchange.host.encode(), digest_size=4).hexdigest()
    return f"http://{name}.wicked.test:{exchange.port}/redirect/hosts"


def _growing(exchange: Exchange) -> str:
    return f"{exchange.origin}{exchange.target}/{'x' * 1000}"


def _to(name: str, target: str) -> Route:
    serve = page(b"", f"Location: {target}", code=302)
    return Route(f"/redirect/{name}", f"302 to {target}", _REFUSED, (302,), serve)


_GARBAGE = 'Location: http://[::garbage\\%zz:99999999/ \t<>"\xff'
_TWICE = ("Location: http://10.0.0.1/first", "Location: http://10.0.0.2/second")
_SPLIT = "Location: http://wicked.test/x%0d%0aHost:%2010.0.0.1"

REDIRECT_ROUTES: tuple[Route, ...] = (
    Route(
        "/redirect/loop",
        "two that redirect to each other",
        "notice, stop",
        (302,),
        redirects(_loop),
    ),
    Route(
        "/redirect/self", "to itself with a fragment", "notice, stop", (302,), redirects(_itself)
    ),
    Route(
        "/redirect/maze",
        "each to a new URL, for ever",
        "stop at its limit",
        (302,),
        redirects(_maze),
    ),
    Route(
        "/redirect/hosts",
        "each to a new host, for ever",
        "stop at its limit",
        (302,),
        redirects(_hosts),
    ),
    Route(
        "/redirect/growing",
        "each to a URL that is 1,000 characters longer",
        "stop at its limit for redirects or for URLs",
        (302,),
        redirects(_growing),
    ),
    Route(
        "/redirect/garbage",
        "to what is no URL",
        "record it, not crash",
        (302,),
        page(b"", _GARBAGE, code=302),
    ),
    Route(
        "/redirect/nowhere",
        "302 without a Location",
        "record it, not crash",
        (302,),
        page(b"", code=302),
    ),
    Route(
        "/redirect/twice",
        "two Locations, both private",
        f"{_REFUSED}, or refuse the response",
        (302, FailureKind.MALFORMED_RESPONSE),
        page(b"", *_TWICE, code=302),
    ),
    Route(
        "/redirect/split",
        "to a URL with an encoded line end",
        "keep the line end encoded",
        (302,),
        page(b"", _SPLIT, code=302),
    ),
    *(_to(name, target) for name, target in FORBIDDEN_TARGETS.items()),
)
