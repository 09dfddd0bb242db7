"""The service of a crawl in this process, as `crawl serve` has it, for the tools of one agent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from crawl.operations.work import Work
from crawl.service.callers.access import check_bind
from crawl.service.faces.announcement import address_of, announced
from crawl.service.faces.served_crawl import ServedCrawl
from crawl.service.faces.serving import bound, listen, served
from crawl.service.fetching.lane_settings import check_settings

_GRACE_S = 1
"""For requests under way at the end: the client that started us waits for two seconds."""


@dataclass(frozen=True, slots=True)
class OwnService:
    """A service that can be asked."""

    crawl: ServedCrawl
    address: str
    """For programs of this machine."""


@contextmanager
def own_service(work: Work, host: str, port: int) -> Iterator[OwnService]:
    """Runs it while the block lasts; Locked where another process has the crawl's queue."""
    check_settings(work.config)
    work.directory.require_writable()
    # before anything is made in the crawl's folder, and nobody is answered before all is checked
    listener = bound(host, port)
    try:
        crawl = ServedCrawl(work.directory, work.config, work.clock, host)
    except BaseException:
        listener.close()
        raise
    try:
        check_bind(host, has_keys=crawl.keys.has_keys())
        listen(listener, host, port)
    except BaseException:
        listener.close()
        crawl.service.close()
        raise
    address = address_of(*listener.getsockname()[:2])
    announcing = announced(crawl.service.folder, address)
    with crawl, served(crawl.app(), listener, crawl.limits, _GRACE_S), announcing:
        yield OwnService(crawl, address)
