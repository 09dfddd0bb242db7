"""Which of the pages that were found become results: one for nearly equal texts, so many a host."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import tantivy

from crawl.indexing.embedded.near_texts import LikeTexts, is_nearly_same
from crawl.indexing.embedded.record import Record


@dataclass(slots=True)
class Candidate:
    """A page that was found, by what is known of it without reading it."""

    address: tantivy.DocAddress
    words: float
    links: float
    freshness: float
    page_score: float
    host: int
    text: int
    sketch: int
    total: float = 0.0
    duplicates: int = 0

    def __post_init__(self) -> None:
        self.total = self.words * self.links * self.freshness


class Collapse:
    """Takes candidates, best first. What is passed over for its host is remembered too: its copy
    on another host, a mirror, is no way around the bound."""

    def __init__(
        self, read: Callable[[Candidate], Record], *, per_host: int, collapse: bool
    ) -> None:
        """`per_host` 0: any number of a host; `collapse`: whether copies are one result."""
        self._read = read
        self._per_host = per_host
        self._collapse = collapse
        self._hosts: Counter[int] = Counter()
        self._met: list[Candidate] = []
        self._by_text: dict[int, Candidate] = {}
        self._like = LikeTexts()
        self._records: dict[int, Record] = {}

    def choose(self, candidates: Iterable[Candidate], needed: int) -> list[Candidate]:
        """The first so many."""
        chosen: list[Candidate] = []
        for candidate in candidates:
            if self._collapse and self._is_copy(candidate):
                continue
            if self._per_host and self._hosts[candidate.host] >= self._per_host:
                continue
            if len(chosen) >= needed:
                break
            self._hosts[candidate.host] += 1
            chosen.append(candidate)
        return chosen

    def record(self, candidate: Candidate) -> Record:
        """What is stored of a candidate."""
        found = self._records.get(id(candidate))
        if found is None:
            found = self._records[id(candidate)] = self._read(candidate)
        return found

    def _is_copy(self, candidate: Candidate) -> bool:
        """Whether the text was met before, which is counted there."""
        original = self._by_text.get(candidate.text)
        if original is None:
            original = self._by_text[candidate.text] = self._nearly_same(candidate) or candidate
        if original is not candidate:
            original.duplicates += 1
            return True
        self._like.add(candidate.sketch, len(self._met))
        self._met.append(candidate)
        return False

    def _nearly_same(self, candidate: Candidate) -> Candidate | None:
        for number in self._like.like(candidate.sketch):
            other = self._met[number]
            if is_nearly_same(self.record(candidate).text, self.record(other).text):
                return other
        return None
