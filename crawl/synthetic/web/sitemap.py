"""The sitemaps of a site: one, or for a large site an index and its parts."""

from __future__ import annotations

import re
from collections.abc import Iterable

from crawl.synthetic.web.kinds import PageKind
from crawl.synthetic.web.page import origin
from crawl.synthetic.web.plan import WebPlan

URLS_PER_SITEMAP = 1000
_PATH = re.compile(r"/sitemap(?:-([1-9]\d{0,5}))?\.xml")
_SCHEMA = "http://www.sitemaps.org/schemas/sitemap/0.9"
_UNLISTED = (
    PageKind.ERROR,
    PageKind.LOOP,
    PageKind.CHAIN,
    PageKind.MOVED,
    PageKind.AWAY,
    PageKind.TOUR,
)


def sitemap(plan: WebPlan, site: int, path: str) -> str | None:
    """The XML at a path, if a sitemap is there."""
    found = _PATH.fullmatch(path)
    if not found:
        return None
    size = plan.sizes[site]
    parts = -(-size // URLS_PER_SITEMAP)
    part = int(found[1] or 0)
    here = origin(plan, site)
    if part == 0 and parts > 1:
        entries = (
            f"<sitemap><loc>{here}/sitemap-{n}.xml</loc></sitemap>" for n in range(1, parts + 1)
        )
        return _document("sitemapindex", entries)
    if part > parts or (part and parts == 1):
        return None
    first = max(0, part - 1) * URLS_PER_SITEMAP
    return _document(
        "urlset", (f"<url><loc>{url}</loc></url>" for url in _listed(plan, site, first))
    )


def listed(plan: WebPlan, site: int) -> list[str]:
    """Every URL that the sitemaps of a site name."""
    return [
        url
        for first in range(0, plan.sizes[site], URLS_PER_SITEMAP)
        for url in _listed(plan, site, first)
    ]


def _listed(plan: WebPlan, site: int, first: int) -> list[str]:
    here = origin(plan, site)
    numbers = range(first, min(first + URLS_PER_SITEMAP, plan.sizes[site]))
    return [
        here + plan.path(site, number)
        for number in numbers
        if plan.kind(site, number) not in _UNLISTED
    ]


def _document(name: str, entries: Iterable[str]) -> str:
    lines = "\n".join(entries)
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<{name} xmlns="{_SCHEMA}">\n{lines}\n</{name}>\n'
    )
