"""Wishes as outsiders put them into the topic: JSON, of which nothing is taken on trust."""

from __future__ import annotations

import msgspec

from crawl.errors import UsageError
from crawl.printable import printable
from crawl.service.api.bodies import UrlWish, age_s
from crawl.service.values import Priority, Wish

MAX_BYTES = 64 << 10
_SHOWN = 2000
"""Characters of a message that are repeated beside the reason why it was refused."""
_REASON = 300

_decode = msgspec.json.Decoder(UrlWish).decode


def wish_of(raw: bytes | None) -> Wish:
    """The wish of a message, `{"url": …, "priority": …, "max_age": …, "tags": […]}`; UsageError
    for anything else."""
    if not raw:
        raise UsageError("the message is empty")
    if len(raw) > MAX_BYTES:
        raise UsageError(f"the message is longer than {MAX_BYTES:,} bytes")
    try:
        said = _decode(raw)
    except msgspec.ValidationError as error:
        raise UsageError(str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"the message is no JSON: {error}") from None
    return Wish(
        url=said.url,
        priority=Priority.of_label(said.priority or "normal"),
        max_age_s=age_s(said.max_age),
        tags=said.tags or (),
    )


def refusal_of(raw: bytes | None, reason: str, place: str) -> bytes:
    """What the topic of refused wishes says of one: why, and as much of it as is text."""
    text = (raw or b"")[: _SHOWN * 4].decode("utf-8", "replace")
    return msgspec.json.encode(
        {"reason": printable(reason, _REASON), "wish": printable(text, _SHOWN), "from": place}
    )
