"""What is known of a page as JSON, for look-ups: written directly, as they are asked for by the
thousand in a second. What it says is what `views.page_view` says.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import UNSET, UnsetType

from crawl.model.status import Status, status_label
from crawl.service.refusals import reason_of
from crawl.service.values import Hop, Page, Timings

_LABELS: Final = {int(status): status_label(status) for status in Status}
_ENCODE = msgspec.json.Encoder().encode
_MEMBERS_OF = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


class _HopView(msgspec.Struct, frozen=True, gc=False):
    url: str
    status: str
    code: int
    at_ms: int


class _Head(msgspec.Struct, frozen=True, gc=False):
    """What stands before the card."""

    url: str
    final_url: str
    status: str
    code: int
    fetched_ms: int
    chain: tuple[_HopView, ...]
    reason: str | UnsetType = UNSET
    redirect: str | UnsetType = UNSET
    changed_ms: int | UnsetType = UNSET
    content_type: str | UnsetType = UNSET
    bytes: int | UnsetType = UNSET
    signature: str | UnsetType = UNSET
    segment: str | UnsetType = UNSET
    parse: str | UnsetType = UNSET


def page_json(page: Page, asked: str, hops: Sequence[Hop] = (), *, markdown: bool = False) -> bytes:
    """A page under the URL that it was asked for by."""
    chain = tuple(_HopView(hop.url, label_of(hop.status), hop.code, hop.at_ms) for hop in hops)
    is_page = page.is_page
    head = _Head(
        asked,
        page.url,
        label_of(page.status),
        page.code,
        page.fetched_ms,
        chain,
        (reason_of(page) or UNSET) if page.reason else UNSET,
        page.redirect or UNSET,
        page.changed_ms if is_page else UNSET,
        page.content_type if is_page else UNSET,
        page.size if is_page else UNSET,
        page.signature if is_page else UNSET,
        page.segment if is_page else UNSET,
        (page.parse or UNSET) if is_page else UNSET,
    )
    parts = [_ENCODE(head)[:-1]]
    if is_page:
        card = _members(page.card)
        if card:
            parts.append(card)
        if markdown:
            parts.append(b'"markdown":' + _ENCODE(page.markdown))
    if page.timings is not None:
        parts.append(b'"timings_ms":' + _ENCODE(_rounded(page.timings)))
    return b",".join(parts) + b"}"


def label_of(status: int) -> str:
    """A status in words."""
    return _LABELS.get(status) or status_label(status)


def _members(card: bytes) -> bytes:
    """The members of a card as they are; none of one that cannot be read, of a release before."""
    if not card:
        return b""
    try:
        members = _MEMBERS_OF(card)
    except msgspec.DecodeError:
        return b""
    if members.keys() & _OURS:
        members = {name: value for name, value in members.items() if name not in _OURS}
        card = _ENCODE(members)
    return card.strip()[1:-1]


def _rounded(timings: Timings) -> dict[str, float]:
    return {
        name: round(value, 1)
        for name in timings.__struct_fields__
        if (value := getattr(timings, name)) is not None
    }


_OURS: Final = frozenset(_Head.__struct_fields__) | {"markdown", "timings_ms"}
"""Names that stand for ours, whatever a card has."""
