"""What pages say of themselves, as the store keeps it: JSON of the parse filter `card`."""

from __future__ import annotations

from typing import Any

import msgspec

from crawl.service.values import Page

_decode = msgspec.json.Decoder().decode


class _Image(msgspec.Struct):
    url: str = ""


class _WithImage(msgspec.Struct):
    image: _Image | None = None


_decode_image = msgspec.json.Decoder(_WithImage).decode


def card_of(page: Page) -> dict[str, Any]:
    """What the page says of itself; empty where it says nothing."""
    try:
        card = _decode(page.card) if page.card else {}
    except msgspec.DecodeError:  # of a row that a release before wrote
        return {}
    return card if isinstance(card, dict) else {}


def image_url_of(page: Page) -> str:
    """The address of the image that stands for the page; empty where it names none."""
    return image_url_in(page.card)


def image_url_in(card: bytes) -> str:
    """The same of a card as it is stored."""
    if b'"image"' not in card:
        return ""
    try:
        image = _decode_image(card).image
    except (msgspec.DecodeError, msgspec.ValidationError):
        return ""
    return "" if image is None else image.url
