"""Running text for page bodies: made once for a charset, then only sliced.

Pages of 30 kB are served thousands of times a second; nothing may be written anew for one.
"""

from __future__ import annotations

import random
from bisect import bisect_left
from functools import cache
from itertools import accumulate

_LATIN = ("a e i o u ei ou ai", "b d f g k l m n p r s t v w z ch st br")
_UMLAUTS = ("ä ö ü é è ô a e i", "b d f g k l m n p r s t v ß ç ñ")
_KANA = ("あ い う え お か き く け こ", "さ し す せ そ 日 本 語 水 山 川 東 京")
_ALPHABETS = {"utf-8": _UMLAUTS, "windows-1252": _UMLAUTS, "shift_jis": _KANA}
_PARAGRAPHS = 400


class FillerText:
    """Paragraphs of one charset; every slice begins and ends with one."""

    def __init__(self, codec: str) -> None:
        chance = random.Random(f"text {codec}")
        self.words = _words(chance, codec)
        paragraphs = [
            ("<p>" + " ".join(chance.choices(self.words, k=chance.randint(20, 110))) + ".</p>\n")
            for _ in range(_PARAGRAPHS)
        ]
        encoded = [paragraph.encode(codec) for paragraph in paragraphs]
        # twice, so that a slice may begin anywhere in the first half
        self._bytes = memoryview(b"".join(encoded + encoded))
        self._ends = list(accumulate(len(paragraph) for paragraph in encoded + encoded))
        self._once = self._ends[_PARAGRAPHS - 1]

    def slice(self, start: int, size: int) -> tuple[memoryview, ...]:
        """Whole paragraphs of about that many bytes, from the paragraph of that number on."""
        first = start % _PARAGRAPHS
        begin = self._ends[first - 1] if first else 0
        rounds, rest = divmod(max(0, size), self._once)
        end = bisect_left(self._ends, begin + rest)
        whole = (self._bytes[begin : begin + self._once],) * rounds
        return (*whole, self._bytes[begin : self._ends[end]])


@cache
def text_of(codec: str) -> FillerText:
    """The text of a charset."""
    return FillerText(codec)


def _words(chance: random.Random, codec: str) -> list[str]:
    if codec == "shift_jis":
        first, second = (group.split() for group in _ALPHABETS[codec])
        return ["".join(chance.choices(first + second, k=chance.randint(2, 6))) for _ in range(500)]
    vowels, consonants = (group.split() for group in _LATIN)
    odd_vowels, odd_consonants = (group.split() for group in _ALPHABETS[codec])
    plain = [_word(chance, vowels, consonants) for _ in range(800)]
    return plain + [_word(chance, odd_vowels, odd_consonants) for _ in range(200)]


def _word(chance: random.Random, vowels: list[str], consonants: list[str]) -> str:
    return "".join(
        chance.choice(consonants) + chance.choice(vowels) for _ in range(chance.randint(1, 4))
    )
