"""A rule of the regex normalizer: a pattern and a replacement in Java's notation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from crawl.urls.re2 import required_character

_PIECE = re.compile(
    r"\\(?P<literal>.)|\$(?P<digits>[0-9]+)|\$\{(?P<name>\w+)\}|(?P<bad>[\\$])|(?P<text>[^\\$]+)",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Substitution:
    """Replaces every match; `$1` and `${name}` stand for groups, `\\$` for a dollar."""

    pattern: re.Pattern[str]
    pieces: tuple[str | int, ...]
    """Text, or the number of a group."""
    required: str
    """A character without which the pattern cannot match, or nothing."""

    @classmethod
    def of(cls, pattern: re.Pattern[str], replacement: str) -> Substitution:
        """ValueError where the replacement names a group that the pattern has not."""
        return cls(pattern, tuple(_pieces(pattern, replacement)), required_character(pattern))

    def apply(self, text: str) -> str:
        if self.required not in text:
            return text
        return self.pattern.sub(self._replacement, text)

    def _replacement(self, match: re.Match[str]) -> str:
        return "".join(
            (match[piece] or "") if isinstance(piece, int) else piece for piece in self.pieces
        )


def _pieces(pattern: re.Pattern[str], replacement: str) -> Iterator[str | int]:
    for piece in _PIECE.finditer(replacement):
        if piece["digits"]:
            yield from _group(pattern, piece["digits"])
        elif piece["name"]:
            if piece["name"] not in pattern.groupindex:
                raise ValueError(f"the pattern has no group {piece['name']!r}")
            yield pattern.groupindex[piece["name"]]
        elif piece["bad"]:
            raise ValueError(f"{piece['bad']!r} must be followed by a group or a character")
        else:
            yield piece["literal"] or piece["text"]


def _group(pattern: re.Pattern[str], digits: str) -> Iterator[str | int]:
    """As Java: the first digit names a group, more digits as long as there is such a one."""
    taken = 1
    if int(digits[0]) > pattern.groups:
        raise ValueError(f"the pattern has no group {digits[0]}")
    while taken < len(digits) and int(digits[: taken + 1]) <= pattern.groups:
        taken += 1
    yield int(digits[:taken])
    if digits[taken:]:
        yield digits[taken:]
