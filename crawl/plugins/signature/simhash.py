"""signature simhash: 64 bits of which few differ between texts that are nearly the same.

Equal digests mean the same text to updatedb, as with any signature; how many bits of two
differ is for whoever looks for near duplicates (`distance`).
"""

from __future__ import annotations

import re
from collections import Counter
from hashlib import blake2b
from itertools import pairwise

import numpy as np

from crawl.model.content import Content
from crawl.model.parse import Parse
from crawl.plugins.signature.md5 import MD5Signature

_WORD = re.compile(r"[^\W_]+")
_MAX_FEATURES = 100_000
"""Of a text without end the beginning must do."""


class SimhashSignature(MD5Signature):
    """Each pair of neighbouring words votes on every bit, as often as it occurs."""

    def calculate(self, content: Content, parse: Parse | None) -> bytes:
        words = _WORD.findall(parse.text.lower()) if parse is not None else []
        if not words:
            return super().calculate(content, parse)
        pairs = pairwise(words[: _MAX_FEATURES + 1]) if len(words) > 1 else [(words[0], "")]
        features = Counter(pairs)
        hashes = b"".join(
            blake2b(f"{one} {other}".encode("utf-8", "replace"), digest_size=8).digest()
            for one, other in features
        )
        bits = np.unpackbits(np.frombuffer(hashes, np.uint8)).reshape(-1, 64)
        weights = np.fromiter(features.values(), np.int64, len(features))
        votes = weights @ bits.astype(np.int64)
        return np.packbits(2 * votes > weights.sum()).tobytes()


def distance(one: bytes, other: bytes) -> int:
    """In how many bits two digests differ."""
    return (int.from_bytes(one, "big") ^ int.from_bytes(other, "big")).bit_count()
