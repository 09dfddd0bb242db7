"""Where a redirect may lead to, and which of its two URLs stands for the page.

A target that is left for a later round goes to the CrawlDb as a link with the source's
score; scoring plugins make of it what they make of links (see scoring opic)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from crawl.config import Config, Property, boolean
from crawl.rules import links
from crawl.urls.domains import registered_domain
from crawl.urls.parse import URL, host_of, parse, resolve, scheme_of

DB_IGNORE_ALSO_REDIRECTS: Property[bool] = boolean(
    "db.ignore.also.redirects",
    True,
    "What is ignored as an internal or external link is ignored as a redirect's target too.",
)


_ODD_BYTES = re.compile("[\x80-\xff]")


def redirect_target(source: str, location: str) -> str | None:
    """Where the value of a Location header, a character for each byte of it, leads to; None
    where it leads nowhere. Bytes beyond ASCII are escaped as they are, as browsers do: most
    are UTF-8 that a server forgot to escape, and what else they may be only the server knows."""
    escaped = _ODD_BYTES.sub(lambda odd: f"%{ord(odd[0]):02X}", location)
    return resolve(source, escaped) if escaped.strip() else None


def why_refused(source: str, target: str) -> str:
    """The reason to count for a target that is dropped whatever the settings; empty for none.
    No server has a word in which files of this machine are read."""
    if scheme_of(target) == "file" and scheme_of(source) != "file":
        return links.LOCAL_FILE
    return ""


@dataclass(frozen=True, slots=True)
class RedirectRules:
    """Which targets are dropped; the rules of links, where they are to hold for redirects."""

    max_length: int = 4096
    ignore_internal: bool = False
    ignore_external: bool = False
    by_domain: bool = False

    @classmethod
    def of(cls, config: Config) -> RedirectRules:
        also = config[DB_IGNORE_ALSO_REDIRECTS]
        return cls(
            config[links.DB_MAX_OUTLINK_LENGTH],
            also and config[links.DB_IGNORE_INTERNAL],
            also and config[links.DB_IGNORE_EXTERNAL],
            config[links.DB_IGNORE_MODE] == "byDomain",
        )

    def why_dropped(self, source: str, target: str) -> str:
        """The reason to count; empty for a target that may be kept."""
        if len(target) > self.max_length:
            return "too_long"
        refused = why_refused(source, target)
        if refused:
            return refused
        if not (self.ignore_internal or self.ignore_external):
            return ""
        here, there = host_of(source) or "", host_of(target) or ""
        if self.by_domain:
            here, there = registered_domain(here), registered_domain(there)
        if here == there:
            return "internal" if self.ignore_internal else ""
        return "external" if self.ignore_external else ""


def representative(source: str, target: str, *, temporary: bool) -> str:
    """The URL under which people should find the page.

    Another domain's target stands for itself. A permanent move counts, except from the
    root of a site, which people know it by. Of a temporary one the simpler URL stands.
    """
    here, there = parse(source), parse(target)
    if here is None or there is None or not here.host or not there.host:
        return target
    if registered_domain(here.host) != registered_domain(there.host):
        return target
    here_root, there_root = _is_root(here), _is_root(there)
    if not temporary:
        return source if here_root else target
    if here_root != there_root:
        return source if here_root else target
    if here.host == there.host and not here_root:
        return source if _weight(here) <= _weight(there) else target
    labels = here.host.count("."), there.host.count(".")
    return source if labels[0] <= labels[1] else target


def _is_root(url: URL) -> bool:
    return url.path in ("", "/") and not url.query


def _weight(url: URL) -> tuple[int, int]:
    return sum(map(bool, url.path.split("/"))), len(url.path)
