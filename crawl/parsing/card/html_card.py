"""The card of an HTML page. Every field is taken from the first of its sources that says something:

title        og:title, twitter:title, JSON-LD (headline, else name), title element, first h1
description  og:description, twitter:description, meta description, JSON-LD, dc.description
image        og:image (secure_url first), twitter:image, JSON-LD, itemprop image, link image_src,
             the first large picture of the main content by its declared size
canonical    link rel=canonical or the Link header, as the parser found them, og:url
site_name    og:site_name, JSON-LD (WebSite, publisher), application-name, dc.publisher
type         og:type, the type of JSON-LD's main thing, of the first microdata item, twitter:card
published    as the export has it: JSON-LD, meta tags, marked elements, the address
modified     by the same rules, but for the address
authors      JSON-LD, citation_author, author, article:author, dc.creator, parsely-author,
             twitter:creator
language     as the parser and the parse filter `language` found it, og:locale, JSON-LD's inLanguage

Sources are what the page says of itself: nothing is guessed from its text.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from itertools import islice

from crawl.html.tokens import names_in
from crawl.interfaces.page import Page
from crawl.model.parse import Parse
from crawl.parsing.card.bounds import Addresses, LeftOut, line, listed
from crawl.parsing.card.card import (
    MAX_AUTHORS,
    MAX_DESCRIPTION,
    MAX_NAME,
    MAX_TITLE,
    MAX_TYPES,
    Card,
)
from crawl.parsing.card.elements import PageElements, elements_of
from crawl.parsing.card.images import image_of
from crawl.parsing.card.linked import linked_of
from crawl.parsing.card.main_thing import (
    ADDRESS_PROPERTIES,
    MainThing,
    may_be_subject,
    without_fragment,
)
from crawl.parsing.card.meta_tags import MetaTags
from crawl.parsing.html.links import links_of_page
from crawl.parsing.html.metadata import OPENGRAPH_PREFIXES
from crawl.parsing.language import first_declared
from crawl.parsing.page_dates import page_dates_of
from crawl.parsing.structured import json_ld_items, microdata_items

_TWITTER = ("twitter:",)
_ADDRESS_NAMES = names_in(
    "og:audio og:audio:secure_url og:audio:url og:image og:image:secure_url og:image:url",
    "og:see_also og:url og:video og:video:secure_url og:video:url twitter:image twitter:image:src",
    "twitter:player twitter:player:stream twitter:url",
)
_END_OF_TIME = 253_000_000_000_000
"""Milliseconds: in the year 9987, for pages of which nobody knows when they were fetched."""
_ADDRESS = re.compile(r"\s*+(?:[a-z][a-z0-9+.-]{1,30}://|www\.|//|/)", re.I)
_ESCAPED = re.compile(r"&(?:[a-z]{2,8}|#\d{2,5}|#x[0-9a-f]{2,5});", re.I)
_LONGEST_ESCAPED = 8 * MAX_DESCRIPTION
_NO_AUTHOR = frozenset(
    ("", "admin", "administrator", "author", "none", "null", "undefined", "unknown")
)


def html_card(page: Page, parse: Parse, left_out: LeftOut) -> Card:
    """The card of a page that a parser has read."""
    elements = elements_of(page, left_out)
    metas = MetaTags(elements.metas)
    addresses = Addresses(links_of_page(page.url, elements.base, page.charset), left_out)
    own = frozenset(filter(None, map(without_fragment, (page.url, parse.canonical))))
    main = MainThing(json_ld_items(parse.metadata), own)
    fetched_ms = page.content.fetch_time or _END_OF_TIME
    dates = page_dates_of(parse.metadata, elements.dated, page.url, fetched_ms)
    linked = linked_of(elements.links, addresses, left_out)
    return Card(
        title=_first(_titles(metas, main, parse, elements), MAX_TITLE),
        description=_first(_descriptions(metas, main), MAX_DESCRIPTION),
        image=image_of(metas, main, elements, addresses, left_out),
        canonical=addresses(parse.canonical, "canonical")
        or _first_address(metas.first("og:url"), addresses, "canonical"),
        site_name=_first(_site_names(metas, main), MAX_NAME),
        type=_first(_kinds(metas, main, parse), MAX_NAME),
        published=dates.published or "",
        modified=dates.modified or "",
        authors=_authors(metas, main, left_out),
        language=parse.language or first_declared(_languages(metas, main)),
        open_graph=listed(
            metas.pairs(OPENGRAPH_PREFIXES), addresses, _ADDRESS_NAMES, left_out, "open_graph"
        ),
        twitter=listed(metas.pairs(_TWITTER), addresses, _ADDRESS_NAMES, left_out, "twitter"),
        json_ld_types=tuple(islice(dict.fromkeys(main.types), MAX_TYPES)),
        json_ld=listed(main.selection(), addresses, ADDRESS_PROPERTIES, left_out, "json_ld"),
        oembed=linked.oembed,
        feeds=linked.feeds,
        icons=linked.icons,
    )


def _first(texts: Iterable[str], most: int) -> str:
    return next((shown for text in texts if (shown := line(text, most))), "")


def _unescaped(texts: Iterable[str]) -> Iterator[str]:
    """Without references to characters that are left although the markup was read: many pages
    escape their meta tags twice."""
    for text in texts:
        yield html.unescape(text[:_LONGEST_ESCAPED]) if _ESCAPED.search(text) else text


def _first_address(references: Iterable[str], addresses: Addresses, field: str) -> str:
    return next((url for each in references if (url := addresses(each, field))), "")


def _titles(
    metas: MetaTags, main: MainThing, parse: Parse, elements: PageElements
) -> Iterator[str]:
    yield from _unescaped(metas.first("og:title", "twitter:title"))
    yield from main.texts("headline", "name")
    yield parse.title
    yield elements.heading()


def _descriptions(metas: MetaTags, main: MainThing) -> Iterator[str]:
    yield from _unescaped(metas.first("og:description", "twitter:description", "description"))
    yield from main.texts("description")
    yield from _unescaped(metas.first("dc.description", "dcterms.description", "abstract"))


def _site_names(metas: MetaTags, main: MainThing) -> Iterator[str]:
    yield from _unescaped(metas.first("og:site_name"))
    yield from main.site_names()
    yield from _unescaped(metas.first("application-name", "dc.publisher", "publisher"))


def _kinds(metas: MetaTags, main: MainThing, parse: Parse) -> Iterator[str]:
    yield from metas.first("og:type")
    yield main.type
    for item in microdata_items(parse.metadata):
        kinds = (str(kind).rstrip("/").rpartition("/")[2] for kind in item.get("type", ()))
        yield from filter(may_be_subject, kinds)
    yield from metas.first("twitter:card")


def _languages(metas: MetaTags, main: MainThing) -> Iterator[str]:
    yield from metas.first("og:locale")
    yield from main.texts("inLanguage")


def _authors(metas: MetaTags, main: MainThing, left_out: LeftOut) -> tuple[str, ...]:
    """All names of the first source that has any; addresses of profiles are no names."""
    sources: tuple[Iterable[str], ...] = (
        main.texts("author", "creator"),
        metas.all("citation_author"),
        metas.first("author"),
        metas.all("article:author"),
        metas.first("dc.creator"),
        metas.first("dcterms.creator"),
        metas.first("parsely-author", "sailthru.author"),
        metas.first("twitter:creator"),
    )
    for source in map(_unescaped, sources):
        names = dict.fromkeys(
            name
            for text in source
            if not _ADDRESS.match(text) and (name := line(text, MAX_NAME)).lower() not in _NO_AUTHOR
        )
        if names:
            left_out.count("authors.limit", len(names) - MAX_AUTHORS)
            return tuple(names)[:MAX_AUTHORS]
    return ()
