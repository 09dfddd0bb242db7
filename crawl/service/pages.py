"""What is known of URLs: pages in the metadata store."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from crawl.counters import Counters
from crawl.service.stores.store import Row, Space, Store
from crawl.service.values import Hop, Page, packed, page_of

MAX_HOPS = 20
"""Redirects between pages of the store that a look-up follows; more is a circle of old answers."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Resolved:
    """A page that a URL leads to, with the redirects on the way."""

    page: Page
    hops: tuple[Hop, ...] = ()


@dataclass(frozen=True, slots=True)
class Pages:
    """Reads and writes pages; safe for several threads, as the store is."""

    store: Store
    counters: Counters

    def get(self, urls: Sequence[str]) -> list[Page | None]:
        """What is known of each URL itself, in their order."""
        rows = self.store.get_many(Space.PAGES, [url.encode() for url in urls])
        return [self._read(url, row) for url, row in zip(urls, rows, strict=True)]

    def resolve(self, urls: Sequence[str]) -> list[Resolved | None]:
        """What each URL leads to. Where a redirect's target is not known, or leads in a circle,
        the redirect itself is what is known."""
        pages = dict(zip(urls, self.get(urls), strict=True))
        targets = {page.redirect for page in pages.values() if page is not None and page.redirect}
        for _ in range(MAX_HOPS):
            missing = [url for url in targets if url not in pages]
            if not missing:
                break
            found = self.get(missing)
            pages.update(zip(missing, found, strict=True))
            targets = {page.redirect for page in found if page is not None and page.redirect}
        return [_followed(url, pages) for url in urls]

    def put(self, pages: Iterable[Page]) -> None:
        """Stores pages; one never replaces what was fetched later. They are safe when it
        returns."""
        rows = [Row(page.url.encode(), packed(page), page.fetched_ms, None) for page in pages]
        if rows:
            self.store.put_many(Space.PAGES, rows)

    def _read(self, url: str, row: bytes | None) -> Page | None:
        """A row that cannot be read is none: the URL is fetched again, which mends it."""
        if row is None:
            return None
        try:
            return page_of(row)
        except ValueError as error:
            self.counters["store.damaged"] += 1
            _log.warning("what the store has for %r cannot be read: %s", url[:200], error)
            return None


def _followed(url: str, pages: Mapping[str, Page | None]) -> Resolved | None:
    page = pages[url]
    if page is None:
        return None
    hops: list[Hop] = []
    on_the_way = {url}
    while page.redirect and page.redirect not in on_the_way:
        target = pages.get(page.redirect)
        if target is None:
            break
        hops.append(Hop(page.url, page.status, page.code, page.fetched_ms))
        on_the_way.add(page.redirect)
        page = target
    return Resolved(page, tuple(hops))
