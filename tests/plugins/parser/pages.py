"""Pages for the tests of parsers, and what every parse of theirs must be."""

from __future__ import annotations

from collections.abc import Mapping

from crawl.interfaces.page import Page
from crawl.interfaces.parser import Parser
from crawl.model.content import Content
from crawl.model.parse import Parse, ParseStatus

URL = "http://www.example.com/a/page"


def page(
    body: bytes | str,
    mime_type: str,
    url: str = URL,
    charset: str = "utf-8",
    headers: Mapping[str, str] | None = None,
) -> Page:
    data = body.encode(charset) if isinstance(body, str) else body
    return Page(Content(url, data, mime_type, headers=headers or {}), mime_type, charset)


def only(parser: Parser, given: Page) -> Parse:
    """The one parse, which succeeded."""
    parses = parser.parse(given)
    assert parses is not None and len(parses) == 1
    assert parses[0].status is ParseStatus.SUCCESS, parses[0].message
    assert parses[0].url == given.url
    return parses[0]


def refusal(parser: Parser, given: Page) -> str:
    """The message of the one parse, which failed as not being of its format."""
    parses = parser.parse(given)
    assert parses is not None and len(parses) == 1
    assert parses[0].status is ParseStatus.INVALID_FORMAT
    message = parses[0].message
    assert message and "\n" not in message
    return message


def targets(parse: Parse) -> list[str]:
    return [link.url for link in parse.outlinks]
