"""signature text-profile: pages are the same if they use the same words about as often.

Dates, counters and other small changes do not count: rare words are left out, and how
often the others occur is rounded.
"""

from __future__ import annotations

import math
import re
from collections import Counter

from crawl.config import Config, integer, number
from crawl.model.content import Content
from crawl.model.parse import Parse
from crawl.plugins.signature.md5 import MD5Signature, digest

MIN_TOKEN_LENGTH = integer(
    "db.signature.text_profile.min_token_len",
    2,
    "Words of this length and shorter are left out of a text profile.",
    unit="characters",
    minimum=0,
)
QUANT_RATE = number(
    "db.signature.text_profile.quant_rate",
    0.01,
    "The most frequent word's count times this is what counts are rounded to.",
    minimum=0,
    maximum=1,
)
_WORD = re.compile(r"[^\W_]+")


class TextProfileSignature(MD5Signature):
    """MD5 of the words with their rounded counts, the most frequent first."""

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self._longest_ignored = config[MIN_TOKEN_LENGTH]
        self._rate = config[QUANT_RATE]

    def calculate(self, content: Content, parse: Parse | None) -> bytes:
        words = Counter(_WORD.findall(parse.text.lower())) if parse is not None else Counter()
        counts = {word: count for word, count in words.items() if len(word) > self._longest_ignored}
        if not counts:
            return super().calculate(content, parse)
        most = max(counts.values())
        # Java's rounding: halves go up
        step = max(math.floor(most * self._rate + 0.5), 2 if most > 1 else 1)
        rounded = [(count // step * step, word) for word, count in counts.items()]
        profile = sorted((-count, word) for count, word in rounded if count >= step)
        lines = "\n".join(f"{word} {-count}" for count, word in profile)
        return digest(lines.encode("utf-8", "replace"))
