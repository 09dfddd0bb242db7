"""What indexchecker answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class CheckedIndexDocument:
    """One document, or why there is none."""

    url: str
    reason: str
    """Why it would not be indexed: `noindex`, `parse_failed`, `filtered`; empty where it would."""
    writers: Mapping[str, Mapping[str, Any] | None]
    """The fields that each writer would be given; None where it is not routed there."""
    detail: str = ""
    """More of the reason: what the server or its robots.txt said, where a redirect leads."""
