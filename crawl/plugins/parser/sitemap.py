"""parser sitemap: sitemaps and their indexes that are met as pages; what they list become
links. Asked before feed and xml, since only the root element tells them apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import ClassVar

from crawl.config import Config, integer
from crawl.interfaces.page import Page
from crawl.interfaces.parser import Parser
from crawl.model.parse import Outlink, Parse
from crawl.parsing.formats.safe_xml import BadXml
from crawl.parsing.formats.sitemaps import Sitemap, SitemapKind, read_sitemap
from crawl.parsing.link_lists import SITEMAP_KIND_KEY
from crawl.parsing.text.links import MAX_LINKS
from crawl.parsing.text.plain import facts, invalid
from crawl.urls.parse import parse as parse_url

MAX_URLS = integer(
    "parser.sitemap.max.urls",
    50_000,
    "Most entries read of one sitemap, whatever db.max.outlinks.per.page says; the standard"
    " allows 50,000.",
    unit="URLs",
    minimum=1,
)


class SitemapParser(Parser):
    """sitemaps.org: urlset, sitemapindex, and lists of links named as sitemaps are."""

    mime_types: ClassVar[tuple[str, ...]] = ("application/xml", "text/xml", "text/plain")

    def __init__(self, config: Config) -> None:
        self._most = config[MAX_URLS]

    def parse(self, page: Page) -> Sequence[Parse] | None:
        if page.mime_type == "text/plain" and not _is_named_so(page.url):
            return None
        try:
            sitemap = read_sitemap(page.url, page.markup, self._most)
        except BadXml as error:
            return (invalid(page.url, str(error)),)
        if sitemap is None:
            return None
        links, over_limit = _links(sitemap)
        dropped = {"sitemap_limit": sitemap.over_limit + over_limit, "malformed": sitemap.bad}
        return (
            Parse(
                page.url,
                outlinks=links,
                outlinks_dropped={reason: count for reason, count in dropped.items() if count},
                metadata=_summary(sitemap),
            ),
        )


def _is_named_so(url: str) -> bool:
    """Any text may be a list of links; one called `sitemap…` is meant as one."""
    parts = parse_url(url)
    return parts is not None and "sitemap" in parts.path.rpartition("/")[2].lower()


def _links(sitemap: Sitemap) -> tuple[tuple[Outlink, ...], int]:
    """The links in their order, and how many were left out: images and the like rather than
    pages."""
    tag = "sitemap" if sitemap.kind is SitemapKind.INDEX else "url"
    room = max(0, MAX_LINKS - len(sitemap.entries))
    links: list[Outlink] = []
    over_limit = 0
    for entry in sitemap.entries[:MAX_LINKS]:
        links.append(Outlink(entry.url, entry.title, "", tag))
        links += entry.extras[:room]
        over_limit += max(0, len(entry.extras) - room)
        room = max(0, room - len(entry.extras))
    over_limit += sum(1 + len(entry.extras) for entry in sitemap.entries[MAX_LINKS:])
    return tuple(links), over_limit


def _summary(sitemap: Sitemap) -> dict[str, str]:
    """What the entries say, taken together: a line for each would be a second sitemap."""
    # dates of the standard sort as text, as far as they are equally precise
    dates = sorted(entry.lastmod for entry in sitemap.entries if entry.lastmod)
    paces = Counter(entry.changefreq.lower() for entry in sitemap.entries if entry.changefreq)
    priorities = Counter(entry.priority for entry in sitemap.entries if entry.priority)
    return facts(
        {
            SITEMAP_KIND_KEY: sitemap.kind,
            "sitemap.entries": len(sitemap.entries),
            "sitemap.bad": sitemap.bad or None,
            "sitemap.cut": "true" if sitemap.cut else None,
            "sitemap.lastmod.first": dates[0] if dates else None,
            "sitemap.lastmod.last": dates[-1] if dates else None,
            "sitemap.changefreq": _counted(paces),
            "sitemap.priority": _counted(priorities),
        }
    )


def _counted(values: Counter[str]) -> str:
    """`daily 12, weekly 3`: the most frequent first."""
    ranked = sorted(values.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{value} {count}" for value, count in ranked[:10])
