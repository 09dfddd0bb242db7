"""The card in the metadata of a parse, under one key."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from crawl.parsing.card.card import MAX_CARD, Card, from_json, to_json

CARD_KEY = "card"
"""The parse filter `card` writes it; no page can, for the metadata of pages have other names."""


def card_text(card: Card) -> str:
    """What stands under the key."""
    return to_json(card).decode()


def card_of(parse_metadata: Mapping[str, str]) -> Card | None:
    """The card that the parse filter `card` wrote; None where it was not on, and where what stands
    there is none."""
    text = parse_metadata.get(CARD_KEY)
    if not text or len(text) > MAX_CARD:
        return None
    try:
        return from_json(text)
    except (msgspec.DecodeError, UnicodeError):
        return None
