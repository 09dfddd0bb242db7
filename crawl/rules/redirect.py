"""Which of two URLs stands for a page that redirects to another."""

from __future__ import annotations

from crawl.urls.domains import registered_domain
from crawl.urls.parse import URL, parse


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
