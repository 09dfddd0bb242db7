"""What dedup tells of duplicates: plain values."""

from __future__ import annotations

from dataclasses import dataclass

from crawl.phases.dedup.text_difference import TextDifference


@dataclass(frozen=True, slots=True)
class DuplicateGroup:
    """A group of duplicates: who survives, and some of the others."""

    size: int
    survivor: str
    duplicates: tuple[str, ...]
    left_out: int = 0
    """How many others there are that `duplicates` does not name."""


@dataclass(frozen=True, slots=True)
class PagePair:
    """Two pages that are nearly the same: the one that stays, unless what pages name as canonical
    or redirect to says otherwise, and the one that would be marked."""

    similarity: float
    url: str
    duplicate: str
    title: str
    duplicate_title: str
    difference: TextDifference
