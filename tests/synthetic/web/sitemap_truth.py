"""What the sitemaps of a synthetic web list, and may list: what a crawler is held against."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from crawl.synthetic.web import SitemapFacts, SitemapStyle, Web, robots, sitemap

_NONSENSE = frozenset(("often", "2.0", "high"))


def sitemap_urls(web: Web, host: str) -> list[str]:
    """Every page of the host that its own sitemaps name."""
    site = web.plan.site(host)
    assert site is not None, host
    return [url for url, _ in sitemap.entries(web.plan, site)]


def sitemap_entries(web: Web, agent: str, time: float = 0.0) -> dict[str, SitemapFacts]:
    """What a crawler of that product token takes from all sitemaps of the web, by URL: what
    each of them may list, with what it says. It knows all hosts."""
    latest: dict[str, SitemapFacts] = {}
    for site in range(web.settings.sites):
        is_moved = robots.sitemap_style(web.plan, site) is SitemapStyle.MOVED
        paths = ["/sitemap.xml", *[sitemap.MOVED_PATH] * is_moved]
        if all(robots.allows(web.plan, site, path, agent, time) for path in paths):
            for url, facts in _permitted(web, site):
                latest[url] = max(latest.get(url, facts), facts, key=lambda each: each.modified)
    return latest


def _permitted(web: Web, site: int) -> Iterator[tuple[str, SitemapFacts]]:
    """What the sitemaps of a site list and may list: its own pages, and those of the next site
    where the robots.txt of that one names the sitemap."""
    yield from sitemap.entries(web.plan, site)
    following = (site + 1) % web.settings.sites
    is_cross = robots.sitemap_style(web.plan, site) is SitemapStyle.CROSS
    if is_cross and following != site and robots.has_sitemap_line(web.plan, following):
        yield from sitemap.bare_entries(web.plan, following)


def sense_of(facts: SitemapFacts) -> dict[str, str]:
    """What a crawler may believe, by name; words in lower case."""
    statements = replace(facts, changefreq=facts.changefreq.lower()).statements
    return {name: text for name, text in statements.items() if text not in _NONSENSE}
