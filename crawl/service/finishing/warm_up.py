"""Has the parser's process ready before the first page comes.

The process loads most of what it needs when it meets a page: the first one would take a second or
more, and somebody waits for it.
"""

from __future__ import annotations

import threading

from crawl.model.content import Content
from crawl.model.status import Status
from crawl.parsing.process.sandbox import Sandbox

_PAGE = b"""<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Warm</title>
<meta name="description" content="A page"><meta property="og:title" content="Warm">
<meta property="og:image" content="/a.png"><link rel="canonical" href="/">
<script type="application/ld+json">{"@type": "Article", "headline": "Warm",
"datePublished": "2026-11-19"}</script></head>
<body><nav><a href="/menu">Menu</a></nav><article><h1>Warm</h1><p>A paragraph that is long enough
to be the main content of a page, with a <a href="/link">link</a> in it, and a few words more, so
that the language can be told as well.</p><ul><li>One</li></ul></article></body></html>"""


class WarmUp:
    """Begins at once, in a thread of its own."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._fault: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="service-warm-up", daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Returns when the parser is ready; raises why it cannot be had. The sandbox is one
        thread's: until then nobody else may use it."""
        self._thread.join()
        fault, self._fault = self._fault, None
        if fault is not None:
            raise fault

    def _run(self) -> None:
        try:
            self._sandbox.parse([warm_page()])
        except BaseException as fault:
            self._fault = fault


def warm_page() -> Content:
    """A page that has of everything a little."""
    return Content(
        url="http://warm.invalid/",
        status=Status.FETCH_SUCCESS,
        content_type="text/html; charset=utf-8",
        body=_PAGE,
    )
