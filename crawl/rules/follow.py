"""Which links of a page a parsing fetch follows at once, in the same segment."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from crawl.urls.parse import host_of


@dataclass(frozen=True, slots=True)
class FollowRules:
    """How far and how many (`fetcher.follow.outlinks.*`)."""

    depth: int
    """Links of links of … pages of the list; 0 or less: none are followed."""
    links: int
    divisor: int
    same_host: bool

    def most(self, depth: int) -> int:
        """Links of one page that may be followed to that depth, 1 for a page of the list:
        fewer the deeper, so that a list does not grow without end."""
        if not 1 <= depth <= self.depth:
            return 0
        return self.divisor * self.links // depth

    def choose(self, source: str, depth: int, targets: Iterable[str]) -> list[str]:
        """The links of `source` to follow to that depth: the first ones that may be."""
        most = self.most(depth)
        links: list[str] = []
        here = host_of(source)  # None of a file, as of all other files
        for target in targets:
            if len(links) >= most:
                break
            if target != source and (not self.same_host or host_of(target) == here):
                links.append(target)
        return links
