"""Documents as messages of a bounded size."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate

import msgspec

from crawl.model.documents import FieldValue

_encoder = msgspec.json.Encoder()
_BINARY = "binaryContent"
"""Half of it is of no use: it goes as a whole."""


def encoded_within(fields: Mapping[str, FieldValue], limit: int) -> tuple[bytes, list[str]]:
    """The fields as JSON of at most so many bytes, and the names of those that were cut for it,
    the longest first: one endless page must not keep all others out of an index. Numbers are
    never cut; where they alone are too long, so is the result."""
    value = _encoder.encode(fields)
    if len(value) <= limit:
        return value, []
    shorter = dict(fields)
    cut: dict[str, None] = {}
    if shorter.pop(_BINARY, None) is not None:
        cut[_BINARY] = None
        value = _encoder.encode(shorter)
    while len(value) > limit:
        name = max(shorter, key=lambda each: _length(shorter[each]), default=None)
        if name is None or not _length(shorter[name]):
            break
        cut[name] = None
        size = len(_encoder.encode(shorter[name]))
        share = (size - (len(value) - limit)) / size
        # where it is not enough to cut this one, half of it stays: others are as long then
        shorter[name] = _cut(shorter[name], min(max(share, 0.5), 0.99))
        if not _length(shorter[name]):
            del shorter[name]
        value = _encoder.encode(shorter)
    return value, list(cut)


def _length(value: FieldValue) -> int:
    """Characters that may go."""
    if isinstance(value, list):
        return sum(map(len, value)) + len(value)
    return len(value) if isinstance(value, str) else 0


def _cut(value: FieldValue, share: float) -> FieldValue:
    """About so much of a text, or of a list of texts, and always less than all of it."""
    if isinstance(value, list):
        room = int(_length(value) * share)
        ends = accumulate(len(each) + 1 for each in value)
        return [each for each, end in zip(value, ends, strict=True) if end <= room]
    return value[: max(0, int(len(value) * share))] if isinstance(value, str) else value
