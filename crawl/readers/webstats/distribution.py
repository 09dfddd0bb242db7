"""How values are distributed, for statistics that are added up."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np


def distribution_of(values: np.ndarray[Any, Any]) -> Counter[int]:
    """How often there is each value."""
    found, counts = np.unique(values, return_counts=True)
    return Counter(dict(zip(found.tolist(), counts.tolist(), strict=True)))
