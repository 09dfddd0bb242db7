"""How values are distributed, for statistics that are added up."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields
from typing import Any

import numpy as np


def distribution_of(values: np.ndarray[Any, Any]) -> Counter[int]:
    """How often there is each value."""
    distinct, counts = np.unique(values, return_counts=True)
    return Counter(dict(zip(distinct.tolist(), counts.tolist(), strict=True)))


def add_counts(total: Any, more: Any) -> None:
    """Adds every field of a dataclass of counts to another's."""
    for each in fields(total):
        value = getattr(total, each.name)
        value += getattr(more, each.name)
        setattr(total, each.name, value)
