"""How many distinct domains: a set of bounded size, as text in a record's metadata.

A domain is a 48-bit hash. The smallest hashes are kept, in order; while there is room the
count is exact, and beyond that it follows from how dense the smallest lie (the k minimum
values estimator, off by about 1/√k).
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable
from hashlib import blake2b

_BYTES = 6
_SPACE = 1 << (8 * _BYTES)


def domain_hash(domain: str) -> str:
    """Eight characters for a domain."""
    digest = blake2b(domain.encode("utf-8", "surrogatepass"), digest_size=_BYTES).digest()
    return base64.urlsafe_b64encode(digest).decode("ascii")


def merged(sketch: str, hashes: Iterable[str], most: int) -> str:
    """The sketch with more domains; what is no sketch and no hash counts for nothing."""
    together = {*_split(sketch), *(each for text in hashes for each in _split(text)[:1])}
    smallest = sorted(together)[:most]
    return base64.urlsafe_b64encode(b"".join(smallest)).decode("ascii")


def count(sketch: str, most: int) -> float:
    """How many domains the sketch has seen."""
    hashes = sorted(_split(sketch))[:most]
    if len(hashes) < most or most < 2:
        return float(len(hashes))
    largest = int.from_bytes(hashes[-1], "big") or 1
    return max((most - 1) * _SPACE / largest, float(most))


def _split(sketch: str) -> list[bytes]:
    try:
        packed = base64.b64decode(sketch, altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return []
    if len(packed) % _BYTES:
        return []
    return [packed[start : start + _BYTES] for start in range(0, len(packed), _BYTES)]
