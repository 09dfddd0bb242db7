"""parser json: the strings of a JSON document as text, and those that are links as links.

Python's own decoder: it is in C, and the depth is looked at before it is asked."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import ClassVar

from crawl.config import Config, integer
from crawl.interfaces.page import Page
from crawl.interfaces.parser import Parser
from crawl.model.parse import Outlink, Parse
from crawl.parsing.text.links import MAX_LINKS, link_of, links_in_text
from crawl.parsing.text.plain import invalid, one_line, storable
from crawl.urls.parse import resolve

MAX_DEPTH = integer(
    "parser.json.max.depth",
    100,
    "Arrays and objects inside each other; a deeper document is not read.",
    minimum=1,
    maximum=900,  # Python's decoder calls itself
)
MAX_STRINGS = integer(
    "parser.json.max.strings", 100_000, "Strings read of one document.", minimum=1
)

_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)
_LINK_KEYS = frozenset({"url", "href", "link", "src", "@id", "contenturl", "embedurl", "sameas"})
"""Names under which a link may stand without its host."""
_TITLE_KEYS = ("title", "name", "headline")
_MAX_REFERENCE = 2000
_MAX_VALUES = 2_000_000
"""Each takes some 60 bytes of memory, however short it is."""


class JsonParser(Parser):
    """JSON of any vocabulary, JSON-LD and GeoJSON among them."""

    mime_types: ClassVar[tuple[str, ...]] = (
        *("application/json", "application/ld+json", "text/json", "application/feed+json"),
        *("application/activity+json", "application/geo+json", "application/manifest+json"),
        *("application/hal+json", "application/problem+json", "application/schema+json"),
        *("application/vnd.api+json", "application/vnd.geo+json", "application/x-json"),
    )

    def __init__(self, config: Config) -> None:
        self._max_depth = config[MAX_DEPTH]
        self._max_strings = config[MAX_STRINGS]

    def parse(self, page: Page) -> Sequence[Parse]:
        # nothing but these comes between two values
        if page.markup.count(",") + page.markup.count("[") > _MAX_VALUES:
            return (invalid(page.url, f"JSON of more than {_MAX_VALUES} values"),)
        if _depth(page.markup) > self._max_depth:
            return (invalid(page.url, f"JSON more than {self._max_depth} levels deep"),)
        try:
            # a number is kept as its text: thousands of digits take long to read
            document = json.loads(page.markup, parse_int=str, parse_float=str, parse_constant=str)
        except (ValueError, RecursionError) as error:
            return (invalid(page.url, f"no JSON: {error}"),)
        strings: list[str] = []
        links: dict[Outlink, None] = {}
        over_limit = 0
        for key, value in _strings(document):
            if len(strings) >= self._max_strings:
                break
            strings.append(value)
            outlinks, unread = _links(page.url, key, value)
            over_limit += unread
            for link in outlinks:
                if len(links) < MAX_LINKS:
                    links[link] = None
                else:
                    over_limit += link not in links
        return (
            Parse(
                page.url,
                title=_title(document),
                text=storable("\n".join(filter(None, (string.strip() for string in strings)))),
                outlinks=tuple(links),
                outlinks_over_limit=over_limit,
            ),
        )


def _depth(markup: str) -> int:
    deepest = depth = 0
    for match in _STRING_OR_BRACKET.finditer(markup):
        if match[0] in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif match[0] in "]}":
            depth -= 1
    return deepest


def _strings(document: object) -> Iterator[tuple[str, str]]:
    """Every text value with the name that it stands under, in the order of the document."""
    if isinstance(document, dict):
        for key, value in document.items():
            if isinstance(value, str):
                yield key, value
            elif isinstance(value, list):
                for member in value:
                    if isinstance(member, str):
                        yield key, member
                    else:
                        yield from _strings(member)
            else:
                yield from _strings(value)
    elif isinstance(document, list):
        for member in document:
            yield from _strings(member)
    elif isinstance(document, str):
        yield "", document


def _links(base: str, key: str, value: str) -> tuple[Sequence[Outlink], int]:
    """The links of a string, and how many more it has than are read of one."""
    whole = link_of(value.strip()) if len(value) <= _MAX_REFERENCE else None
    if whole is not None:
        return (Outlink(whole),), 0
    if (
        key.lower() in _LINK_KEYS
        and 0 < len(value) <= _MAX_REFERENCE
        and value.startswith(("/", "./", "../"))
    ):
        url = resolve(base, value)
        return (() if url is None else (Outlink(url),)), 0
    return links_in_text(value) if "://" in value else ((), 0)


def _title(document: object) -> str:
    if isinstance(document, dict):
        for key in _TITLE_KEYS:
            value = document.get(key)
            if isinstance(value, str) and value.strip():
                return one_line(value)
    return ""
