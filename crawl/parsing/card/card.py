"""Card: what a preview of a page shows, and what programs ask of it first."""

from __future__ import annotations

import msgspec

MAX_CARD = 32_768
"""Bytes of a card as JSON."""
MAX_URL = 2_048
"""Characters of an address."""
MAX_TITLE = 500
MAX_DESCRIPTION = 1_000
MAX_NAME = 200
"""Characters of a person's, a site's or a type's name."""
MAX_AUTHORS = 10
MAX_TYPES = 20
MAX_FEEDS = 10
MAX_ICONS = 20
MAX_OEMBED = 4
MAX_VALUE = 1_000
"""Characters of one value of OpenGraph, Twitter cards or JSON-LD."""
MAX_VALUES = 10
"""Of one name of these."""
MAX_NAMES = 60
MAX_PART = 6_000
"""Characters of all values of OpenGraph, of Twitter cards, of JSON-LD."""


class CardImage(msgspec.Struct, frozen=True, omit_defaults=True):
    """The image that stands for a page."""

    url: str
    width: int | None = None
    """Pixels, as somebody states them; None where nobody does."""
    height: int | None = None
    alt: str = ""
    type: str = ""
    """Its MIME type, where that is stated."""


class CardFeed(msgspec.Struct, frozen=True, omit_defaults=True):
    """A feed that the page links to."""

    url: str
    title: str = ""
    type: str = ""


class CardOEmbed(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where a description of the page by oEmbed is to be had."""

    url: str
    format: str
    """`json` or `xml`."""


class CardIcon(msgspec.Struct, frozen=True, omit_defaults=True):
    """An icon that the page links to."""

    url: str
    rel: str = ""
    sizes: str = ""
    type: str = ""


class Card(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a page says of itself, chosen by the precedence of `html_card.py`. All addresses are
    absolute, of http or https; no text has control characters; as JSON it is no longer than
    MAX_CARD bytes."""

    title: str = ""
    description: str = ""
    image: CardImage | None = None
    canonical: str = ""
    site_name: str = ""
    type: str = ""
    """In the words of its source: OpenGraph's `article`, schema.org's `NewsArticle`."""
    published: str = ""
    """As RFC 3339 writes it, as exact as the page says: `2026-11`, `2026-11-18T09:30:00+01:00`."""
    modified: str = ""
    authors: tuple[str, ...] = ()
    language: str = ""
    charset: str = ""
    """Of pages that are text, the Encoding Standard's name."""
    mime_type: str = ""
    open_graph: dict[str, tuple[str, ...]] = {}
    twitter: dict[str, tuple[str, ...]] = {}
    json_ld_types: tuple[str, ...] = ()
    json_ld: dict[str, tuple[str, ...]] = {}
    """Of the thing that the page is about, by property; `offers.price` for one of a thing in it."""
    oembed: tuple[CardOEmbed, ...] = ()
    feeds: tuple[CardFeed, ...] = ()
    icons: tuple[CardIcon, ...] = ()
    left_out: dict[str, int] = {}
    """How much is left out, by reason: `image.address`, `feeds.limit`, `failed.ValueError`."""


_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(Card)


def to_json(card: Card) -> bytes:
    """The card as JSON, without what is empty."""
    return _ENCODER.encode(card)


def from_json(text: str | bytes) -> Card:
    """The card of its JSON; raises msgspec.DecodeError where it is none."""
    return _DECODER.decode(text)
