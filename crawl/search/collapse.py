"""Which of the pages that were found become results: one for nearly equal texts, so many a host.

Two hosts that have one text in common may have quoted it; of a mirror most pages that are found are
copies. The bound on a host's results is one for it and its mirrors: which of two copies ranks a
little higher is chance, and each would bring in other pages of the same site.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import tantivy

from crawl.search.near_texts import LikeTexts, is_nearly_same, parts_of
from crawl.search.record import Record

_MIN_SHARED = 6
"""Parts of sketches: of two texts nearly all."""
_SHARE = 0.5
"""Of the parts of the host with fewer, that both must have."""
_MAX_HOSTS = 8
"""With one part, that are compared: what is everywhere tells nothing."""
_COMPARED_FOR_MIRRORS = 100
"""The same for every page of results, so that they do not overlap."""


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
    """Takes candidates, best first. A mirror is no way around the bound of a host: they have one
    together, and of a page that is passed over for its host, copies are too."""

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

    def choose(self, candidates: Sequence[Candidate], needed: int) -> list[Candidate]:
        """The first so many."""
        results: list[Candidate] = []
        families = self._families(candidates[:_COMPARED_FOR_MIRRORS])
        for candidate in candidates:
            if self._collapse and self._is_copy(candidate):
                continue
            host = families.get(candidate.host, candidate.host)
            if self._per_host and self._hosts[host] >= self._per_host:
                continue
            if len(results) >= needed:
                break
            self._hosts[host] += 1
            results.append(candidate)
        return results

    def _families(self, best: Sequence[Candidate]) -> dict[int, int]:
        """The hosts that have mirrors; not looked for where no host comes near its bound."""
        hosts = Counter(each.host for each in best) if self._per_host and self._collapse else {}
        if len(hosts) < 2 or max(hosts.values()) < self._per_host:
            return {}
        return host_families((each.host, each.sketch) for each in best)

    def record(self, candidate: Candidate) -> Record:
        """What is stored of a candidate."""
        record = self._records.get(id(candidate))
        if record is None:
            record = self._records[id(candidate)] = self._read(candidate)
        return record

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


def host_families(texts: Iterable[tuple[int, int]]) -> dict[int, int]:
    """Each host that has mirrors → the one that stands for them, of pairs of a host and the sketch
    of a text that it has. Of nearly equal texts most parts of the sketches are equal: nothing has
    to be read."""
    hosts_of: defaultdict[tuple[int, int], set[int]] = defaultdict(set)
    for host, sketch in texts:
        for part in parts_of(sketch):
            hosts_of[part].add(host)
    shared: Counter[tuple[int, int]] = Counter()
    own: Counter[int] = Counter()
    for hosts in hosts_of.values():
        own.update(hosts)
        if 1 < len(hosts) <= _MAX_HOSTS:
            shared.update(combinations(sorted(hosts), 2))
    family: dict[int, int] = {}
    for (one, other), count in shared.items():
        if count >= max(_MIN_SHARED, _SHARE * min(own[one], own[other])):
            first, second = family.get(one, one), family.get(other, other)
            family[one] = family[other] = first
            for host, head in family.items():
                if head == second:
                    family[host] = first
    return family
