"""The sitemaps of a site, in the style that its settings say, and what they may list."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable
from dataclasses import dataclass

from crawl.synthetic.web import robots
from crawl.synthetic.web.kinds import REDIRECTING, PageKind, SitemapStyle
from crawl.synthetic.web.page import origin
from crawl.synthetic.web.plan import WebPlan
from crawl.synthetic.web.sitemap_facts import SitemapFacts, facts_of, feed_date

URLS_PER_SITEMAP = 1000
URLS_PER_PART = 20
"""Of the styles that always have parts."""
MOVED_PATH = "/maps/sitemap.xml"
_PATH = re.compile(r"/sitemap(?:-([1-9]\d{0,5}))?\.xml(\.gz)?")
_SCHEMA = "http://www.sitemaps.org/schemas/sitemap/0.9"
_EXTENSIONS = (
    ' xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"'
    ' xmlns:video="http://www.google.com/schemas/sitemap-video/1.1"'
    ' xmlns:news="http://www.google.com/schemas/sitemap-news/0.9"'
    ' xmlns:xhtml="http://www.w3.org/1999/xhtml"'
)
_INDEXED = (SitemapStyle.PLAIN, SitemapStyle.GZIP, SitemapStyle.NESTED)
_UNLISTED = (*REDIRECTING, PageKind.ERROR)


@dataclass(frozen=True, slots=True)
class SitemapFile:
    """What is at the path of a sitemap."""

    body: bytes = b""
    content_type: str = "application/xml"
    location: str = ""
    """Where it redirects to."""


def sitemap(plan: WebPlan, site: int, path: str) -> SitemapFile | None:
    """What is at a path, if a sitemap is there."""
    style = robots.sitemap_style(plan, site)
    if style is SitemapStyle.MISSING:
        return None
    if style is SitemapStyle.MOVED:
        if path == "/sitemap.xml":
            return SitemapFile(location=MOVED_PATH)
        return _urlset(bare_entries(plan, site)) if path == MOVED_PATH else None
    match = _PATH.fullmatch(path)
    if not match:
        return None
    part, is_packed = int(match[1] or 0), bool(match[2])
    if style in _INDEXED:
        return _part(plan, site, style, part, is_packed)
    return _single(plan, site, style) if not part and not is_packed else None


def entries(plan: WebPlan, site: int) -> list[tuple[str, SitemapFacts]]:
    """Every page of a site that its own sitemaps name, with what they say of it."""
    style = robots.sitemap_style(plan, site)
    if style is SitemapStyle.MISSING:
        return []
    here = origin(plan, site)
    return [
        (here + plan.path(site, number), _facts(plan, site, number, style))
        for number in _numbers(plan, site)
    ]


def _numbers(plan: WebPlan, site: int, numbers: range | None = None) -> list[int]:
    """The listed pages of a site, or those of them with such numbers."""
    some = range(plan.sizes[site]) if numbers is None else numbers
    return [number for number in some if plan.kind(site, number) not in _UNLISTED]


def bare_entries(
    plan: WebPlan, site: int, numbers: range | None = None
) -> list[tuple[str, SitemapFacts]]:
    """The listed pages of a site, or those of them with such numbers, of which nothing is said."""
    here = origin(plan, site)
    listed = _numbers(plan, site, numbers)
    return [(here + plan.path(site, number), SitemapFacts()) for number in listed]


def _facts(plan: WebPlan, site: int, number: int, style: SitemapStyle) -> SitemapFacts:
    match style:
        case SitemapStyle.FACTS:
            return facts_of(plan.draws(site, number))
        case SitemapStyle.RSS | SitemapStyle.ATOM:
            return feed_date(plan.draws(site, number), is_rss=style is SitemapStyle.RSS)
    return SitemapFacts()


def _part(
    plan: WebPlan, site: int, style: SitemapStyle, part: int, is_packed: bool
) -> SitemapFile | None:
    """Part 0 is the index; of a nested one, part 1 is an index, too."""
    per_part = URLS_PER_SITEMAP if style is SitemapStyle.PLAIN else URLS_PER_PART
    parts = -(-plan.sizes[site] // per_part)
    here = origin(plan, site)
    is_single = style is SitemapStyle.PLAIN and parts == 1
    is_nested = style is SitemapStyle.NESTED
    suffix = ".xml.gz" if style is SitemapStyle.GZIP else ".xml"
    first_part = 2 if is_nested else 1
    if part == 0 and not is_single:
        numbers = range(1, 2) if is_nested else range(1, parts + 1)
        return None if is_packed else _index(f"{here}/sitemap-{n}{suffix}" for n in numbers)
    if part == 1 and is_nested:
        below = [f"{here}/sitemap-{n}.xml" for n in range(2, parts + 2)]
        return None if is_packed else _index([*below, f"{here}/sitemap.xml"])
    place = 0 if is_single else part - first_part
    if place >= parts or (part and is_single) or is_packed != suffix.endswith("gz"):
        return None
    # by their numbers, so that a part need not know how many pages of those before are listed
    numbers = range(place * per_part, min((place + 1) * per_part, plan.sizes[site]))
    file = _urlset(bare_entries(plan, site, numbers))
    if is_packed:
        return SitemapFile(gzip.compress(file.body, mtime=0), "application/x-gzip")
    return file


def _single(plan: WebPlan, site: int, style: SitemapStyle) -> SitemapFile:
    own = entries(plan, site)
    match style:
        case SitemapStyle.TEXT:
            return SitemapFile("".join(f"{url}\n" for url, _ in own).encode(), "text/plain")
        case SitemapStyle.RSS:
            items = "".join(
                f"<item><title>{n}</title><link>{url}</link><pubDate>{facts.lastmod}</pubDate></item>\n"
                for n, (url, facts) in enumerate(own)
            )
            feed = f'<rss version="2.0"><channel><title>new</title>\n{items}</channel></rss>\n'
            return SitemapFile(feed.encode(), "application/rss+xml")
        case SitemapStyle.ATOM:
            items = "".join(
                f'<entry><link href="{url}"/><updated>{facts.lastmod}</updated></entry>\n'
                for url, facts in own
            )
            feed = f'<feed xmlns="http://www.w3.org/2005/Atom">\n{items}</feed>\n'
            return SitemapFile(feed.encode(), "application/atom+xml")
        case SitemapStyle.EXTENSIONS:
            return _extensions(own)
        case SitemapStyle.CROSS:
            others = {(site + away) % plan.settings.sites for away in (1, 2)} - {site}
            foreign = [entry for other in sorted(others) for entry in bare_entries(plan, other)]
            return _urlset([*own, *foreign])
    return _urlset(own)


def _extensions(own: list[tuple[str, SitemapFacts]]) -> SitemapFile:
    """Every second page is a translation of the one before it."""
    urls = [url for url, _ in own]
    lines = []
    for url, other in zip(urls[::2], [*urls[1::2], ""], strict=False):
        link = f'<xhtml:link rel="alternate" hreflang="de" href="{other}"/>' if other else ""
        lines.append(
            f"<url><loc>{url}</loc>{link}"
            f"<image:image><image:loc>{url}.png</image:loc></image:image>"
            f"<video:video><video:title>v</video:title><video:content_loc>{url}.mp4"
            "</video:content_loc></video:video>"
            "<news:news><news:title>n</news:title></news:news></url>"
        )
    return _document("urlset", lines, _EXTENSIONS)


def _urlset(pages: Iterable[tuple[str, SitemapFacts]]) -> SitemapFile:
    def entry(url: str, facts: SitemapFacts) -> str:
        lines = "".join(f"<{name}>{text}</{name}>" for name, text in facts.statements.items())
        return f"<url><loc>{url}</loc>{lines}</url>"

    return _document("urlset", [entry(url, facts) for url, facts in pages])


def _index(urls: Iterable[str]) -> SitemapFile:
    return _document("sitemapindex", [f"<sitemap><loc>{url}</loc></sitemap>" for url in urls])


def _document(name: str, lines: Iterable[str], namespaces: str = "") -> SitemapFile:
    text = "\n".join(lines)
    return SitemapFile(
        f'<?xml version="1.0" encoding="UTF-8"?>\n<{name} xmlns="{_SCHEMA}"{namespaces}>\n'
        f"{text}\n</{name}>\n".encode()
    )
