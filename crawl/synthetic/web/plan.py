"""Where a web's pages are and how they hang together: sites, paths, trees and links.

Page n of a site is the child of page (n-1) // fanout; page 0 is its front page. Only
leaves are odd, so that every page can be reached unless robots.txt is in the way.
"""

from __future__ import annotations

import random
import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import accumulate
from struct import unpack
from typing import NamedTuple

from crawl.synthetic.web.kinds import CHAIN_LENGTH, PageKind
from crawl.synthetic.web.settings import Settings

_HOST = re.compile(r"site(0|[1-9]\d{0,8})\.test")
_PATH = re.compile(r"/(?:[a-z]+/)?p([1-9]\d{0,11})(?:/([1-9]))?", re.ASCII)
_DRAW_BYTES = 32
_KNOWN_PATHS = 100_000


@dataclass(frozen=True, slots=True)
class PagePosition:
    """A page: its site, its number there, and the hop where it is a chain or a loop."""

    site: int
    number: int
    hop: int = 0


class PageDraws(NamedTuple):
    """Numbers that belong to a page, each below 2^32 and for one use.

    A tuple, because a page with twenty links asks for twenty of them.
    """

    private: int
    kind: int
    detail: int
    size: int
    text: int
    charset: int
    links: int
    encoding: int


class WebPlan:
    """Sites, pages and links of a web; knows nothing of bodies or HTTP."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.sizes = _sizes(settings)
        self._ends = list(accumulate(self.sizes))
        self._prefix = f"{settings.seed}/"
        self._odd_below = int(settings.odd * 2**32)
        self._private_below = int(settings.private * 2**32)
        self._is_plain = not (self._odd_below or self._private_below)
        # pages of one site link to each other again and again
        self.path = lru_cache(_KNOWN_PATHS)(self._path)

    def host(self, site: int) -> str:
        """The name of a site."""
        return f"site{site}.test"

    def site(self, host: str) -> int | None:
        """The number of the site of that name, if there is one."""
        match = _HOST.fullmatch(host)
        site = int(match[1]) if match else -1
        return site if 0 <= site < self.settings.sites else None

    def draws(self, site: int, number: int) -> PageDraws:
        """The numbers of a page."""
        name = f"{self._prefix}{site}/{number}".encode()
        return PageDraws(*unpack("<8I", blake2b(name, digest_size=_DRAW_BYTES).digest()))

    def kind(self, site: int, number: int, draws: PageDraws | None = None) -> PageKind:
        """What a page is."""
        if number == 0 or self._is_plain:
            return PageKind.PAGE
        own_draws = draws or self.draws(site, number)
        if own_draws.private < self._private_below:
            return PageKind.PRIVATE
        is_leaf = number * self.settings.fanout + 1 >= self.sizes[site]
        if is_leaf and own_draws.kind < self._odd_below:
            return self.settings.kinds[own_draws.kind % len(self.settings.kinds)]
        return PageKind.PAGE

    def _path(self, site: int, number: int) -> str:
        """Where a page is on its site."""
        if number == 0:
            return "/"
        kind = self.kind(site, number)
        return f"/p{number}" if kind is PageKind.PAGE else f"/{kind}/p{number}"

    def position(self, site: int, path: str) -> PagePosition | None:
        """The page at a path, if there is one."""
        if path == "/":
            return PagePosition(site, 0)
        match = _PATH.fullmatch(path)
        if not match or int(match[1]) >= self.sizes[site]:
            return None
        number, hop = int(match[1]), int(match[2] or 0)
        position = PagePosition(site, number, hop)
        hops = {PageKind.CHAIN: CHAIN_LENGTH, PageKind.LOOP: 2}.get(self.kind(site, number), 1)
        return position if hop < hops and path == self.path_of(position) else None

    def path_of(self, position: PagePosition) -> str:
        """The path of a page or of a hop of it."""
        path = self.path(position.site, position.number)
        return f"{path}/{position.hop}" if position.hop else path

    def children(self, site: int, number: int) -> range:
        """The pages below a page in its site's tree."""
        first = number * self.settings.fanout + 1
        size = self.sizes[site]
        return range(min(first, size), min(first + self.settings.fanout, size))

    def links(self, site: int, number: int, draws: PageDraws) -> list[tuple[int, int]]:
        """Where a page's links lead: (site, number), each once, the front page first."""
        shape = self.settings
        targets = dict.fromkeys([(site, 0)])
        targets.update(dict.fromkeys((site, child) for child in self.children(site, number)))
        rng = random.Random(draws.links)
        draw = rng.random
        # Pareto with exponent 2, cut: many pages with few links, few with many
        count = min(int(8 * shape.links), int(shape.links * 0.53 / (1.0 - draw()) ** 0.5))
        size, total = self.sizes[site], self._ends[-1]
        for _ in range(count):
            if draw() < shape.external:
                targets[self.anywhere(int(draw() * total))] = None
            else:
                targets[(site, int(draw() * size))] = None
        return list(targets)

    def anywhere(self, number: int) -> tuple[int, int]:
        """The page of that number among all pages of the web: (site, number there)."""
        site = bisect_right(self._ends, number % self._ends[-1])
        before = self._ends[site - 1] if site else 0
        return site, number % self._ends[-1] - before

    def sound(self, site: int, number: int, *, private: bool) -> int:
        """The page itself or the nearest above it that is an ordinary one."""
        while (kind := self.kind(site, number)) is not PageKind.PAGE:
            if private and kind is PageKind.PRIVATE:
                break
            number = (number - 1) // self.settings.fanout
        return number


def _sizes(settings: Settings) -> list[int]:
    """Pages of each site: a power law over a shuffled order of the sites, exact in sum."""
    ranks = list(range(1, settings.sites + 1))
    random.Random(f"sizes {settings.seed}").shuffle(ranks)
    parts = list(accumulate(rank**-settings.skew for rank in ranks))
    spare = settings.pages - settings.sites
    ends = [round(spare * part / parts[-1]) for part in parts]
    return [1 + end - begin for begin, end in zip([0, *ends], ends, strict=False)]
