"""parser js: links that a script carries in its string literals. They are hints, not links:
a script is not run, and no text is taken from it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import ClassVar

from crawl.config import Config, boolean
from crawl.interfaces.page import Page
from crawl.interfaces.parser import Parser
from crawl.model.parse import Outlink, Parse
from crawl.parsing.text.links import MAX_LINKS, link_of
from crawl.urls.parse import resolve

RELATIVE = boolean(
    "parser.js.relative.links",
    True,
    "Take strings such as '/a/b' and 'page.html' for links, beside whole URLs.",
)

# A literal that is not closed on its line ends with it, so that each character is read once.
_LITERAL = re.compile(
    r'"((?:[^"\\\n]++|\\.)*+)"?' r"|'((?:[^'\\\n]++|\\.)*+)'?" r"|`((?:[^`\\\n]++|\\.)*+)`?"
)
_MAX_LITERAL = 2000
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|(.))", re.DOTALL)
_IN_A_PATH = r"[\w\-.~%@:!*+,;=&$]"
_PATH = re.compile(
    rf"(?:\.{{0,2}}/)(?:[A-Za-z_~%]{_IN_A_PATH}*+)(?:/{_IN_A_PATH}*+)*+(?:\?[^\s<>\"'`{{}}|\\^]*+)?+"
)
_FILE = re.compile(
    r"[\w\-][\w\-./]{0,300}\.(?:html?|xhtml|php|aspx?|jspx?|json|xml|pdf|txt|rss)"
    r"(?:\?[^\s<>\"'`{}|\\^]*+)?+",
    re.IGNORECASE,
)


class JsParser(Parser):
    """JavaScript."""

    mime_types: ClassVar[tuple[str, ...]] = (
        *("application/javascript", "text/javascript", "application/x-javascript"),
        *("application/ecmascript", "text/ecmascript", "text/x-javascript"),
    )

    def __init__(self, config: Config) -> None:
        self._relative = config[RELATIVE]

    def parse(self, page: Page) -> Sequence[Parse]:
        urls: dict[str, None] = {}
        over_limit: set[str] = set()
        for url in self._links(page):
            if len(urls) < MAX_LINKS:
                urls[url] = None
            elif url not in urls:
                over_limit.add(url)
        links = tuple(Outlink(url, tag="script") for url in urls)
        return (Parse(page.url, outlinks=links, outlinks_over_limit=len(over_limit)),)

    def _links(self, page: Page) -> Iterator[str]:
        for match in _LITERAL.finditer(page.markup):
            literal = match[match.lastindex or 1] or ""
            if not 3 < len(literal) <= _MAX_LITERAL:
                continue
            literal = _ESCAPE.sub(_unescaped, literal) if "\\" in literal else literal
            url = link_of(literal)
            if url is None and literal.startswith("//"):
                url = resolve(page.url, literal) if link_of("http:" + literal) else None
            if url is None and self._relative:
                is_path = _PATH.fullmatch(literal) or _FILE.fullmatch(literal)
                url = resolve(page.url, literal) if is_path else None
            if url is not None:
                yield url


def _unescaped(escape: re.Match[str]) -> str:
    code = escape[1] or escape[2]
    return chr(int(code, 16)) if code else escape[3]
