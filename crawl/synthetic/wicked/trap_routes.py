"""Wicked routes that abuse links: webs without end, each page fine in itself."""

from __future__ import annotations

from datetime import date, timedelta
from hashlib import blake2b

from crawl.synthetic.wicked.exchange import Exchange, Route

_FIRST_DAY = date(2026, 1, 1)


async def calendar(exchange: Exchange) -> None:
    parts = exchange.path.removeprefix("/trap/calendar").strip("/").split("/")
    try:
        day = date(*map(int, parts)) if parts != [""] else _FIRST_DAY
        near = [day + timedelta(days=step) for step in (-1, 1, 31, 365)]
    except (ValueError, TypeError, OverflowError):
        near = [_FIRST_DAY]
    await _page(exchange, [f"/trap/calendar/{it.year}/{it.month:02}/{it.day:02}" for it in near])


async def deeper(exchange: Exchange) -> None:
    here = exchange.path.rstrip("/")
    await _page(exchange, [f"{here}/{name}/" for name in ("a", "b", "again")])


async def sessions(exchange: Exchange) -> None:
    number = blake2b(exchange.target.encode(), digest_size=8).hexdigest()
    await _page(exchange, [f"/trap/sessions?page={n}&sid={number}" for n in (1, 2, 3)])


async def _page(exchange: Exchange, links: list[str]) -> None:
    items = "".join(f'<li><a href="{link}">{link}</a>\n' for link in links)
    title = blake2b(exchange.target.encode(), digest_size=4).hexdigest()
    html = f"<html><head><title>{title}</title></head><body><ul>\n{items}</ul></body></html>\n"
    await exchange.page(html.encode(), keep=True)


_STOP = "take the page; stop by depth, filters or a limit for the host"

TRAP_ROUTES: tuple[Route, ...] = (
    Route("/trap/calendar", "a calendar of all days", _STOP, (200,), calendar),
    Route("/trap/deeper", "paths that get ever deeper", _STOP, (200,), deeper),
    Route("/trap/sessions", "a new session id in every link", _STOP, (200,), sessions),
)
