"""The card of any page. Whatever a page is made of, it has a card: one that says why it is empty
where reading it failed."""

from __future__ import annotations

import msgspec

from crawl.interfaces.page import Page
from crawl.model.parse import Parse
from crawl.parsing.card.bounds import LeftOut, bounded, line
from crawl.parsing.card.card import MAX_NAME, Card
from crawl.parsing.card.html_card import html_card
from crawl.parsing.card.other_card import other_card
from crawl.parsing.html.scan import HTML_TYPES

_CHARSET_TYPES = ("text/", "application/json", "application/xml", "application/javascript")
_CHARSET_ENDINGS = ("+xml", "+json")


def read_card(page: Page, parse: Parse) -> Card:
    """The card of a page that a parser has read with success."""
    left_out = LeftOut()
    try:
        reader = html_card if page.mime_type in HTML_TYPES else other_card
        card = reader(page, parse, left_out)
    except MemoryError:
        raise
    except Exception as error:  # a page must not end the process, whatever it is made of
        left_out = LeftOut({f"failed.{type(error).__name__[:60]}": 1})
        card = Card()
    return bounded(
        msgspec.structs.replace(
            card,
            charset=page.charset if _is_text(page.mime_type) else "",
            mime_type=line(page.mime_type, MAX_NAME),
            left_out=dict(left_out),
        )
    )


def _is_text(mime_type: str) -> bool:
    return mime_type.startswith(_CHARSET_TYPES) or mime_type.endswith(_CHARSET_ENDINGS)
