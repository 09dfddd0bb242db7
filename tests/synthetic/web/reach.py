"""What a correct crawler of a synthetic web finds: the closure of its links and redirects."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from crawl.synthetic.web.web import Web


@dataclass(frozen=True, slots=True)
class ReachableUrls:
    """Every URL that can be found, by what becomes of it."""

    codes: dict[str, int] = field(default_factory=dict)
    """Allowed URLs, each to be requested exactly once, and the code that they answer."""
    disallowed: set[str] = field(default_factory=set)
    """Found, but robots.txt forbids them, or cannot be had for now."""

    @property
    def pages(self) -> set[str]:
        """Those with a page."""
        return {url for url, code in self.codes.items() if code == 200}


def reachable(
    web: Web, agent: str, seeds: Iterable[str] | None = None, time: float = 0.0
) -> ReachableUrls:
    """What a crawler of that product token finds from the seeds (by default all of them)."""
    reach = ReachableUrls()
    waiting = deque(web.seeds() if seeds is None else seeds)
    while waiting:
        url = waiting.popleft()
        if url in reach.codes or url in reach.disallowed:
            continue
        if not web.allowed(url, agent, time):
            reach.disallowed.add(url)
            continue
        found = web.expected(url, time)
        reach.codes[url] = found.code
        waiting.extend([found.target] if found.target else found.links)
    return reach
