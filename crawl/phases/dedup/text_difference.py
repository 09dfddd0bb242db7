"""What differs between two texts, as words that only one of them has: what a person looks at who
has to say whether one of two pages may go."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from difflib import SequenceMatcher

_MAX_WORDS = 1500
"""Of what is left of each text without its common beginning and end: comparing takes a time that
grows with the square."""
_MAX_MATCHES = 200_000
"""Pairs of equal words; where there are more, those that stand in more than a hundredth of a text
are only compared beside others: they alone would take half a minute."""
MAX_CHANGES = 12
_CHANGE_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Change:
    """Words of the one text, and what the other has in their place."""

    one: str
    other: str


@dataclass(frozen=True, slots=True)
class TextDifference:
    """The first changes, and how many more there are."""

    changes: tuple[Change, ...]
    left_out: int = 0
    is_cut: bool = False
    """Whether the texts go on beyond what was compared."""


def difference_of(one: str, other: str) -> TextDifference:
    """What differs between two texts, apart from blanks."""
    ones, others = one.split(), other.split()
    same = 0
    for mine, theirs in zip(ones, others, strict=False):
        if mine != theirs:
            break
        same += 1
    ones, others = ones[same:], others[same:]
    while ones and others and ones[-1] == others[-1]:
        ones.pop()
        others.pop()
    is_cut = max(len(ones), len(others)) > _MAX_WORDS
    ones, others = ones[:_MAX_WORDS], others[:_MAX_WORDS]
    counts, other_counts = Counter(ones), Counter(others)
    matches = sum(counts[word] * other_counts[word] for word in counts)
    words = SequenceMatcher(None, ones, others, autojunk=matches > _MAX_MATCHES)
    changes = [
        Change(_shown(ones[begin:end]), _shown(others[low:high]))
        for what, begin, end, low, high in words.get_opcodes()
        if what != "equal"
    ]
    return TextDifference(tuple(changes[:MAX_CHANGES]), max(0, len(changes) - MAX_CHANGES), is_cut)


def _shown(words: list[str]) -> str:
    text = " ".join(words)
    return text if len(text) <= _CHANGE_CHARACTERS else f"{text[:_CHANGE_CHARACTERS]}…"
