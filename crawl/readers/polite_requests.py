"""How requests are sent outside of a fetch: by the configured protocols, politely."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

from crawl.fetcher.drivers.protocols import Protocols, resolved_protocols
from crawl.fetcher.drivers.single import FetchEnvironment, PageFetcher
from crawl.fetcher.values.settings import HTTP_REDIRECT_MAX
from crawl.operations.work import Work
from crawl.readers.page_options import MAX_REDIRECTS
from crawl.urls.parse import host_of

_SHOWN_PAUSE_SECONDS = 1.0


@contextmanager
def polite_requests(work: Work) -> Iterator[FetchEnvironment]:
    """The means to send requests; a pause of a second or more is announced."""

    def announce(url: str, seconds: float) -> None:
        if seconds >= _SHOWN_PAUSE_SECONDS:
            work.remark(f"{host_of(url)} is asked again in {seconds:.0f} s")

    with closing(Protocols(resolved_protocols(work.config), work.config)) as protocols:
        yield FetchEnvironment(protocols.fetch, work.clock, time.sleep, announce)


@contextmanager
def polite_fetcher(work: Work, *, follow_redirects: bool) -> Iterator[PageFetcher]:
    """Asks for one page after the other."""
    redirects = (work.config[HTTP_REDIRECT_MAX] or MAX_REDIRECTS) if follow_redirects else 0
    with polite_requests(work) as means:
        yield PageFetcher(work.config, means, redirects)
