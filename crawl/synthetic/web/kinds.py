"""The kinds of pages and of robots.txt that a synthetic web has."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum


class PageKind(StrEnum):
    """What a page is; for all but PAGE, also the first folder of its path."""

    PAGE = "page"
    PRIVATE = "private"
    """A page like any other, but many a robots.txt closes its folder."""
    MOVED = "moved"
    """301, 302, 303, 307 or 308 to a page of the same site, perhaps a private one."""
    AWAY = "away"
    """The same, to a page of any site."""
    CHAIN = "chain"
    """Three redirects one after the other, then a page."""
    TOUR = "tour"
    """A redirect to the page of the same number on the next site, which may be another one;
    to a page of its own on the last."""
    LOOP = "loop"
    """Two redirects to each other."""
    ERROR = "error"
    """404, 410, 403, 500, 503 or 429; the last two with Retry-After."""
    FLAKY = "flaky"
    """503 with Retry-After until the web's time is `repair`, then a page."""
    DUPLICATE = "duplicate"
    """The very bytes of another page of the site."""
    NEAR = "near"
    """The bytes of another page of the site with another title."""
    SLOW = "slow"
    """A page that takes its time."""
    CHANGING = "changing"
    """A page that changes with the web's time."""


_SHARES = Counter(
    {
        PageKind.MOVED: 3,
        PageKind.AWAY: 2,
        PageKind.CHAIN: 1,
        PageKind.LOOP: 1,
        PageKind.ERROR: 3,
        PageKind.FLAKY: 1,
        PageKind.DUPLICATE: 2,
        PageKind.NEAR: 2,
        PageKind.SLOW: 1,
        PageKind.CHANGING: 2,
    }
)
ODD: tuple[PageKind, ...] = tuple(_SHARES.elements())
"""The odd ones, as often as they shall occur among themselves."""

REDIRECTING = (PageKind.MOVED, PageKind.AWAY, PageKind.CHAIN, PageKind.TOUR, PageKind.LOOP)
REDIRECT_CODES = (301, 302, 303, 307, 308)
ERROR_CODES = (404, 410, 403, 500, 503, 429)
CHAIN_LENGTH = 3


class RobotsKind(StrEnum):
    """What is at a site's /robots.txt."""

    OPEN = "open"
    """Everything is allowed."""
    PRIVATE = "private"
    """/private/ is closed."""
    MISSING = "missing"
    """404: everything is allowed."""
    DELAY = "delay"
    """/private/ is closed, and there is a Crawl-delay."""
    AGENTS = "agents"
    """badbot may get nothing, goodbot everything, all others everything but /private/."""
    PATTERNS = "patterns"
    """/private/ is closed but for paths that end in 1; so are paths with a query."""
    UNAVAILABLE = "unavailable"
    """503 until `repair`, then PRIVATE."""
    MOVED = "moved"
    """301 to another path of the site, where PRIVATE is."""
    AWAY = "away"
    """302 to another site, where PRIVATE is."""
    HUGE = "huge"
    """PRIVATE, then more than 500 KiB of comments."""
    FORBIDDEN = "forbidden"
    """403: everything is allowed."""
    SOFT = "soft"
    """200 and an HTML page that says nothing: everything is allowed."""
    THROTTLED = "throttled"
    """429 with Retry-After until `repair`, then PRIVATE."""
    CLOSED = "closed"
    """Everything is closed."""


class SitemapStyle(StrEnum):
    """How a site lists its pages; what begins at /sitemap.xml."""

    PLAIN = "plain"
    """One file, or for a large site an index and its parts; URLs alone."""
    FACTS = "facts"
    """With lastmod in many spellings, changefreq and priority, some of which are nonsense."""
    CROSS = "cross"
    """It also lists pages of the next site, whose robots.txt may name it, and of the one after,
    which knows nothing of it."""
    MISSING = "missing"
    """404."""
    GZIP = "gzip"
    """An index of packed parts."""
    NESTED = "nested"
    """An index of indexes that also list each other."""
    TEXT = "text"
    """A URL a line."""
    RSS = "rss"
    ATOM = "atom"
    EXTENSIONS = "extensions"
    """Images, videos and news; every other page is named as a translation alone."""
    MOVED = "moved"
    """301 to a file in a folder, which lists the whole site."""


@dataclass(frozen=True, slots=True)
class Charset:
    """How a page's text becomes bytes, and where it says so."""

    codec: str
    in_header: bool
    in_meta: bool


DECLARED = Charset("utf-8", True, True)
CHARSETS: tuple[Charset, ...] = (
    *((DECLARED,) * 6),
    Charset("utf-8", True, False),
    Charset("utf-8", False, True),
    Charset("utf-8", False, False),
    Charset("windows-1252", True, False),
    Charset("windows-1252", False, True),
    Charset("windows-1252", False, False),
    Charset("shift_jis", True, False),
    Charset("shift_jis", False, True),
)
ENCODINGS = ("gzip", "deflate", "br", "zstd")
