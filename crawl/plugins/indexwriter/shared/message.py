"""Documents as messages of a bounded size."""

from __future__ import annotations

from collections.abc import Mapping

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
    left = dict(fields)
    cut: list[str] = []
    if left.pop(_BINARY, None) is not None:
        cut.append(_BINARY)
        value = _encoder.encode(left)
    while len(value) > limit:
        name = max(left, key=lambda each: _length(left[each]), default=None)
        if name is None or not _length(left[name]):
            break
        if name not in cut:
            cut.append(name)
        size = len(_encoder.encode(left[name]))
        share = (size - (len(value) - limit)) / size
        # where it is not enough to cut this one, half of it stays: others are as long then
        left[name] = _cut(left[name], min(max(share, 0.5), 0.99))
        if not _length(left[name]):
            del left[name]
        value = _encoder.encode(left)
    return value, cut


def _length(value: FieldValue) -> int:
    """Characters that may go."""
    if isinstance(value, list):
        return sum(map(len, value)) + len(value)
    return len(value) if isinstance(value, str) else 0


def _cut(value: FieldValue, share: float) -> FieldValue:
    """About so much of a text, or of a list of texts, and always less than all of it."""
    if isinstance(value, list):
        room = int(_length(value) * share)
        kept = []
        for each in value:
            room -= len(each) + 1
            if room < 0:
                break
            kept.append(each)
        return kept
    return value[: max(0, int(len(value) * share))] if isinstance(value, str) else value
