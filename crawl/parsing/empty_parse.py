"""Why a parse that succeeded has brought nothing of a body that is not empty: no text, no title,
no links. Each reason is counted, so that no page is lost without a word."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from crawl.interfaces.page import Page
from crawl.interfaces.parser import Parser
from crawl.model.parse import Parse

_BLANKS = b" \t\r\n\f\v\0\xef\xbb\xbf\xfe\xff"
"""White space, NULs and byte order marks."""


class EmptyReason(StrEnum):
    """A reason to count, as `parse_empty.…`."""

    BLANK = "blank"
    """There is nothing in the body but white space."""
    UNREADABLE = "unreadable"
    """The parsers of its type could not read it: it is damaged, a bomb, or of another type."""
    UNREAD_TYPE = "unread_type"
    """No parser reads pages of its type: an image, a film, a program."""
    NO_CONTENT = "no_content"
    """A parser has read it and found nothing in it."""


class WhyEmpty(NamedTuple):
    """Why a parse is empty."""

    reason: EmptyReason
    message: str
    """One line for people."""


def reason_if_empty(
    parse: Parse, page: Page, name: str, parser: Parser, refusal: str
) -> WhyEmpty | None:
    """Why the parser of that name found nothing in a page; None where it found something, or
    where the page is empty. `refusal` is what the parser before it said was wrong with it."""
    if not page.body or not _is_empty(parse):
        return None
    if not page.body.strip(_BLANKS):
        return WhyEmpty(EmptyReason.BLANK, "nothing found: the body is blank")
    if "*/*" not in parser.mime_types:
        message = f"nothing found: {name} sees neither text nor links in it"
        return WhyEmpty(EmptyReason.NO_CONTENT, message)
    if refusal:
        return WhyEmpty(EmptyReason.UNREADABLE, f"nothing found: {refusal}")
    return WhyEmpty(EmptyReason.UNREAD_TYPE, f"nothing found: no parser reads {page.mime_type}")


def _is_empty(parse: Parse) -> bool:
    """Whether a parse has brought nothing; links that were counted and left out are something."""
    if parse.title or parse.refresh is not None or parse.link_count:
        return False
    return not parse.text or parse.text.isspace()
