"""What links bring together, by row and by column, to the last bit the same.

Sums of floats depend on their order, and links come in whatever order the partitions of a
crawl have them. So they are added largest first.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from crawl.interfaces.scoring import Links

LARGEST = float(np.finfo(np.float32).max)
_SIGN = np.uint32(0x8000_0000)


def storable(score: float) -> float:
    """The nearest score that a 32-bit column can hold; 0 for what is no number."""
    if score != score:
        return 0.0
    return min(max(score, -LARGEST), LARGEST)


def storable_scores(scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float32]:
    """`storable` for a column."""
    numbers = np.where(np.isnan(scores), 0.0, scores)
    return np.clip(numbers, -LARGEST, LARGEST).astype(np.float32)


def total(scores: Iterable[float]) -> float:
    """The sum of the scores that are finite."""
    summed = 0.0
    for score in sorted(filter(math.isfinite, scores), reverse=True):
        summed += score
    return summed


def totals(links: Links, rows: int) -> npt.NDArray[np.float64]:
    """`total` of the links to each row."""
    finite = np.isfinite(links.score)
    owner, score = links.owner, links.score
    if not finite.all():
        owner, score = owner[finite], score[finite]
    # row and score as one number: sorting it is several times quicker than sorting by two
    bits = np.ascontiguousarray(score, dtype=np.float32).view(np.uint32)
    ascending = np.where(bits & _SIGN, ~bits, bits | _SIGN)
    keys = np.sort((owner.astype(np.uint64) << np.uint64(32)) | ~ascending)
    falling = ~keys.astype(np.uint32)
    ordered = np.where(falling & _SIGN, falling ^ _SIGN, ~falling).view(np.float32)
    owners = (keys >> np.uint64(32)).astype(np.int64)
    return np.bincount(owners, weights=ordered, minlength=rows).astype(np.float64, copy=False)
