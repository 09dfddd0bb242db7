"""The HTML of a page: a small head with title and links, and slices of running text."""

from __future__ import annotations

from dataclasses import dataclass

from crawl.synthetic.web.kinds import CHARSETS, DECLARED, Charset
from crawl.synthetic.web.plan import PageDraws, WebPlan
from crawl.synthetic.web.sessions import link_path
from crawl.synthetic.web.text import text_of

_TAIL = b"</body>\n</html>\n"


@dataclass(frozen=True, slots=True)
class Page:
    """A body in the parts that it is sent in, and what stands in it."""

    parts: tuple[bytes | memoryview, ...]
    charset: Charset
    title: str
    links: tuple[str, ...]
    """Absolute URLs in the order of the page, each once."""

    @property
    def body(self) -> bytes:
        return b"".join(self.parts)

    @property
    def content_type(self) -> str:
        return f"text/html; charset={self.charset.codec}" if self.charset.in_header else "text/html"


def charset_of(plan: WebPlan, draws: PageDraws) -> Charset:
    """The charset of a page."""
    return CHARSETS[draws.charset % len(CHARSETS)] if plan.settings.charsets else DECLARED


def write_page(plan: WebPlan, site: int, number: int, *, version: int = 0, mark: str = "") -> Page:
    """The page of that number; of a changing one, its version; marked, a near-duplicate."""
    draws = plan.draws(site, number)
    charset = charset_of(plan, draws)
    text = text_of(charset.codec)
    words = text.words
    title = (
        f"{words[draws.text % len(words)]} {words[draws.size % len(words)]}"
        f" {number} of {plan.host(site)}"
    )
    if version:
        title += f", version {version}"
    title += mark
    links: list[str] = []
    items: list[str] = []
    here = origin(plan, site)
    for there, target in plan.links(site, number, draws):
        path = link_path(plan, site, number, target) if there == site else plan.path(there, target)
        # links to other sites need the host, those within a site are written without
        url = (here if there == site else origin(plan, there)) + path
        links.append(url)
        items.append(f'<li><a href="{path if there == site else url}">{words[target % 500]}</a>')
    declared = f'<meta charset="{charset.codec}">\n' if charset.in_meta else ""
    head = (
        f"<!DOCTYPE html>\n<html>\n<head>\n{declared}<title>{title}</title>\n"
        f'<meta name="description" content="{words[draws.links % len(words)]}, {title}">\n'
        f'<meta name="keywords" content="{words[number % 500]}, synthetic">\n'
        f"</head>\n<body>\n<h1>{title}</h1>\n<ul>\n" + "\n".join(items) + "\n</ul>\n"
    ).encode(charset.codec)
    size = plan.settings.size
    filler_size = size // 2 + draws.size % size - len(head) - len(_TAIL)
    slices = text.slice(draws.text + version, filler_size) if filler_size > 0 else ()
    return Page((head, *slices, _TAIL), charset, title, tuple(links))


def origin(plan: WebPlan, site: int) -> str:
    """`http://site3.test:8080`, as all URLs of a site begin."""
    port = plan.settings.port
    return f"http://{plan.host(site)}" + ("" if port in (0, 80) else f":{port}")
