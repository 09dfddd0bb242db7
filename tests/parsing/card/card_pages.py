"""Pages and their cards, by the parsers of the product."""

from __future__ import annotations

import json
from collections.abc import Mapping

from crawl.config import Config
from crawl.html.encoding import UTF_8
from crawl.interfaces.page import Page
from crawl.model.content import Content
from crawl.model.parse import Parse
from crawl.parsing.card.card import Card
from crawl.parsing.card.read import read_card
from crawl.plugins.parser.html import HtmlParser

URL = "https://www.example.org/news/story?id=1"
FETCHED = 1_790_000_000_000  # in September 2026


def page_of(
    markup: str | bytes,
    mime_type: str = "text/html",
    *,
    url: str = URL,
    charset: str = UTF_8,
    headers: Mapping[str, str] | None = None,
) -> Page:
    body = markup.encode("utf-8", "surrogatepass") if isinstance(markup, str) else markup
    content = Content(url, body, mime_type, fetch_time=FETCHED, headers=headers or {})
    return Page(content, mime_type, charset)


def card(markup: str | bytes, *, charset: str = UTF_8, url: str = URL) -> Card:
    """The card of HTML."""
    page = page_of(markup, charset=charset, url=url)
    return read_card(page, parsed(page))


def parsed(page: Page) -> Parse:
    return HtmlParser(Config.of()).parse(page)[0]


def meta(**named: str) -> str:
    """Meta tags; `og__title` is the property og:title."""
    tags = ""
    for name, content in named.items():
        attribute = "property" if name.startswith(("og_", "article_")) else "name"
        tags += f'<meta {attribute}="{name.replace("__", ":")}" content="{content}">'
    return tags


def json_ld(thing: object) -> str:
    return f'<script type="application/ld+json">{json.dumps(thing)}</script>'
