"""Wishes as outsiders put them into the topic: JSON, of which nothing is taken on trust."""

from __future__ import annotations

import msgspec

from crawl.errors import UsageError
from crawl.printable import printable
from crawl.service.api.bodies import Submission, UrlWish, read_body
from crawl.service.values import Wish

MAX_BYTES = 64 << 10
_SHOWN = 2000
"""Characters of a message that are repeated beside the reason why it was refused."""
_REASON = 300


def wish_of(raw: bytes | None) -> Wish:
    """The wish of a message, `{"url": …, "priority": …, "max_age": …, "tags": […]}` and what else
    an entry of a submission may have; UsageError for anything else."""
    raw = raw or b""
    if len(raw) > MAX_BYTES:
        raise UsageError(f"the message is longer than {MAX_BYTES:,} bytes")
    said: UrlWish = read_body(raw, UrlWish, "the message")
    (wish,) = Submission(urls=(said,)).wishes(owner="")
    return wish


def refusal_of(raw: bytes | None, reason: str, place: str) -> bytes:
    """What the topic of refused wishes says of one: why, and as much of it as is text."""
    text = (raw or b"")[: _SHOWN * 4].decode("utf-8", "replace")
    return msgspec.json.encode(
        {"reason": printable(reason, _REASON), "wish": printable(text, _SHOWN), "from": place}
    )
