"""The robots.txt of every site, and what it allows: decided here, not by parsing it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from crawl.synthetic.web.kinds import RobotsKind, SitemapStyle
from crawl.synthetic.web.page import origin
from crawl.synthetic.web.plan import WebPlan

MOVED_PATH = "/robots-moved.txt"
_AWAY_PATH = re.compile(r"/robots-of-site(0|[1-9]\d{0,8})\.test\.txt")
_PRIVATE = "User-agent: *\nDisallow: /private/\n"
_SOFT = "<!DOCTYPE html>\n<html><head><title>Welcome</title></head><body>Nothing here</body></html>"
_BROKEN = {RobotsKind.UNAVAILABLE: 503, RobotsKind.THROTTLED: 429}


@dataclass(frozen=True, slots=True)
class RobotsFile:
    """What a request for a robots.txt gets."""

    code: int
    text: str = ""
    location: str = ""
    content_type: str = "text/plain"


_AGENTS = f"User-agent: badbot\nDisallow: /\n\nUser-agent: goodbot\nAllow: /\n\n{_PRIVATE}"
_FILES = {
    RobotsKind.MISSING: RobotsFile(404),
    RobotsKind.FORBIDDEN: RobotsFile(403),
    RobotsKind.MOVED: RobotsFile(301, location=MOVED_PATH),
    RobotsKind.SOFT: RobotsFile(200, _SOFT, content_type="text/html"),
    RobotsKind.CLOSED: RobotsFile(200, "User-agent: *\nDisallow: /\n"),
    RobotsKind.AGENTS: RobotsFile(200, _AGENTS),
}
"""Those that are the same on every site."""


def robots_kind(plan: WebPlan, site: int) -> RobotsKind:
    """What is at a site's /robots.txt."""
    return plan.settings.robots[site % len(plan.settings.robots)]


def is_robots(path: str) -> bool:
    """Whether the path is a robots.txt or where one redirects to."""
    return path in ("/robots.txt", MOVED_PATH) or _AWAY_PATH.fullmatch(path) is not None


def robots_file(plan: WebPlan, site: int, path: str, time: float) -> RobotsFile:
    """What is at a path for which `is_robots` holds."""
    if path == MOVED_PATH:
        there = robots_kind(plan, site) is RobotsKind.MOVED
        return RobotsFile(200, _PRIVATE) if there else RobotsFile(404)
    if match := _AWAY_PATH.fullmatch(path):
        owner = int(match[1])
        there = owner < plan.settings.sites and _away_host(plan, owner) == site
        return RobotsFile(200, _PRIVATE) if there else RobotsFile(404)
    kind = robots_kind(plan, site)
    if kind in _BROKEN and time < plan.settings.repair:
        return RobotsFile(_BROKEN[kind])
    if kind is RobotsKind.AWAY:
        away = origin(plan, _away_host(plan, site))
        return RobotsFile(302, location=f"{away}/robots-of-{plan.host(site)}.txt")
    return _FILES.get(kind) or RobotsFile(200, _text(plan, site, kind))


def allows(plan: WebPlan, site: int, path: str, agent: str, time: float) -> bool:
    """Whether a crawler of that product token may get the path (with its query) now."""
    if is_robots(path):
        return True
    kind = robots_kind(plan, site)
    private = path.startswith("/private/")
    match kind:
        case RobotsKind.MISSING | RobotsKind.FORBIDDEN | RobotsKind.SOFT | RobotsKind.OPEN:
            return True
        case RobotsKind.CLOSED:
            return False
        case RobotsKind.AGENTS if agent.lower() in ("badbot", "goodbot"):
            return agent.lower() == "goodbot"
        case RobotsKind.PATTERNS:
            return "?" not in path and (not private or path.endswith("1"))
        case RobotsKind.UNAVAILABLE | RobotsKind.THROTTLED:
            return time >= plan.settings.repair and not private
    return not private


def crawl_delay(plan: WebPlan, site: int) -> float | None:
    """The Crawl-delay of a site's robots.txt, if it has one."""
    return plan.settings.crawl_delay if robots_kind(plan, site) is RobotsKind.DELAY else None


def has_sitemap_line(plan: WebPlan, site: int) -> bool:
    """Whether the site's robots.txt names its sitemap."""
    return robots_kind(plan, site) in (RobotsKind.OPEN, RobotsKind.DELAY, RobotsKind.PATTERNS)


def named_sitemaps(plan: WebPlan, site: int) -> list[str]:
    """The sitemaps that the site's robots.txt names, where it names any: its own, and that of the
    site before, where pages of this one are listed there."""
    before = (site - 1) % plan.settings.sites
    names = [site, before] if sitemap_style(plan, before) is SitemapStyle.CROSS else [site]
    return [f"{origin(plan, each)}/sitemap.xml" for each in dict.fromkeys(names)]


def sitemap_style(plan: WebPlan, site: int) -> SitemapStyle:
    """How a site lists its pages."""
    return plan.settings.sitemaps[site % len(plan.settings.sitemaps)]


def _away_host(plan: WebPlan, site: int) -> int:
    return (site + 1) % plan.settings.sites


def _text(plan: WebPlan, site: int, kind: RobotsKind) -> str:
    sitemap = "".join(f"Sitemap: {url}\n" for url in named_sitemaps(plan, site))
    match kind:
        case RobotsKind.OPEN:
            return f"User-agent: *\nDisallow:\n\n{sitemap}"
        case RobotsKind.DELAY:
            return f"{_PRIVATE}Crawl-delay: {plan.settings.crawl_delay:g}\n\n{sitemap}"
        case RobotsKind.PATTERNS:
            return f"{sitemap}\n{_PRIVATE}Allow: /private/*1$\nDisallow: /*?\n"
        case RobotsKind.HUGE:
            comments = (f"# line {line} is of no interest to any robot\n" for line in range(12_000))
            return _PRIVATE + "".join(comments) + "Disallow: /beyond-500-KiB/\n"
    return _PRIVATE
