"""What is known of a page as JSON, for look-ups: written directly, as they are asked for by the
thousand in a second. What it says is what `views.page_view` says.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any, Final

import msgspec
from msgspec import UNSET, UnsetType

from crawl.model.status import Status, status_label
from crawl.service.refusals import reason_of
from crawl.service.values import FetchedImage, Hop, Page, Timings

_LABELS: Final = {int(status): status_label(status) for status in Status}
_ENCODE = msgspec.json.Encoder().encode
_DECODE = msgspec.json.Decoder().decode
_TIMES: Final = Timings.__struct_fields__
_TIMES_OF: Final = attrgetter(*_TIMES)
_NONE: Final = msgspec.Raw(b"null")
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
    truncated: str | UnsetType = UNSET
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
        (page.truncated or UNSET) if is_page else UNSET,
        page.signature if is_page else UNSET,
        page.segment if is_page else UNSET,
        (page.parse or UNSET) if is_page else UNSET,
    )
    parts = [_ENCODE(head)[:-1]]
    if is_page:
        card = _members(page.card, page.image)
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


def _members(card: bytes, image: FetchedImage | None) -> bytes:
    """The members of a card as they are; none of one that cannot be read, of a release before. What
    its image turned out to be stands beside what is stated of it."""
    try:
        members = _MEMBERS_OF(card) if card else {}
    except msgspec.DecodeError:
        members = {}
    if image is not None:
        members["image"] = msgspec.Raw(_image_json(members.get("image", _NONE), image))
    elif _OURS.isdisjoint(members):
        return card.strip()[1:-1] if members else b""
    own = {name: value for name, value in members.items() if name not in _OURS}
    return _ENCODE(own)[1:-1]


def _image_json(stated: msgspec.Raw, image: FetchedImage) -> bytes:
    said = _DECODE(stated)
    return _ENCODE({**(said if isinstance(said, dict) else {}), "fetched": image_view(image)})


def image_view(image: FetchedImage) -> dict[str, Any]:
    """What an image turned out to be, beside what its page states of it."""
    label = label_of(image.status) if image.status else None
    view: dict[str, Any] = {"url": image.url, "status": label}
    for name in ("code", "reason", "type", "width", "height", "fetched_ms"):
        if value := getattr(image, name):
            view[name] = value
    if image.size:
        view["bytes"] = image.size
    return view


def _rounded(timings: Timings) -> dict[str, float]:
    return {
        name: value if type(value) is int else round(value, 1)
        for name, value in zip(_TIMES, _TIMES_OF(timings), strict=True)
        if value is not None
    }


_OURS: Final = frozenset(_Head.__struct_fields__) | {"markdown", "timings_ms"}
"""Names that stand for ours, whatever a card has."""
