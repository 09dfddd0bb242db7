"""Why a parse that succeeded has brought nothing of a body that is not empty: no text, no title,
no links. Each reason is counted, so that no page is lost without a word."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum

from crawl.counters import Counters
from crawl.interfaces.page import Page
from crawl.interfaces.parser import Parser
from crawl.model.parse import Parse

_BLANKS = b" \t\r\n\f\v\0\xef\xbb\xbf\xfe\xff"
"""White space, NULs and byte order marks."""


class EmptyReason(StrEnum):
    """A reason to count, as `parse_empty.…`."""

    BLANK = "blank"
    """There is nothing in the body but white space."""
    UNREAD_TYPE = "unread_type"
    """No parser reads pages of its type: an image, a film, a program."""
    NO_CONTENT = "no_content"
    """A parser has read it and found nothing in it."""


_MESSAGES = {
    EmptyReason.BLANK: "nothing found: the body is blank",
    EmptyReason.UNREAD_TYPE: "nothing found: no parser reads {type}",
    EmptyReason.NO_CONTENT: "nothing found: {parser} sees neither text nor links in it",
}


def explained_if_empty(
    parse: Parse, page: Page, name: str, parser: Parser, counters: Counters
) -> Parse:
    """The parse that the parser of that name made of a page; where it has brought nothing, the
    reason is counted, and its message says so."""
    if not page.body or not _is_empty(parse):
        return parse
    reason = _reason(page, parser)
    counters[f"parse_empty.{reason}"] += 1
    message = _MESSAGES[reason].format(type=page.mime_type, parser=name)
    return replace(parse, message=message)


def _is_empty(parse: Parse) -> bool:
    """Whether a parse has brought nothing; links that were counted and left out are something."""
    if parse.title or parse.refresh is not None or parse.link_count:
        return False
    return not parse.text or parse.text.isspace()


def _reason(page: Page, parser: Parser) -> EmptyReason:
    if not page.body.strip(_BLANKS):
        return EmptyReason.BLANK
    return EmptyReason.UNREAD_TYPE if "*/*" in parser.mime_types else EmptyReason.NO_CONTENT
