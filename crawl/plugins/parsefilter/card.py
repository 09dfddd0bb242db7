"""parsefilter card: what a preview of a page shows as metadata `card`, a JSON object: title,
description, image, dates, authors, OpenGraph and the rest (`crawl/parsing/card/card.py`).

It is off unless `parsefilter.order` names it. Behind `language` it has the language, too."""

from __future__ import annotations

from dataclasses import replace

from crawl.config import Config
from crawl.interfaces.page import Page
from crawl.interfaces.parsefilter import ParseFilter
from crawl.model.parse import Parse
from crawl.parsing.card.read import read_card
from crawl.parsing.card.stored import CARD_KEY, card_text


class CardParseFilter(ParseFilter):
    """Adds the card of the page."""

    def __init__(self, config: Config) -> None:
        """There is nothing to set."""

    def filter(self, page: Page, parse: Parse) -> Parse:
        # what is inside a page is not what its card is about
        if parse.url != page.url:
            return parse
        card = read_card(page, parse)
        counts = dict(parse.counts)
        for reason, count in card.left_out.items():
            name = f"card.left_out.{reason}"
            counts[name] = counts.get(name, 0) + count
        metadata = {**parse.metadata, CARD_KEY: card_text(card)}
        return replace(parse, metadata=metadata, counts=counts)
