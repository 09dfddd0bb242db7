"""A web of known graph: hosts and popularity by power laws, communities, navigation within hosts,
and a spam farm of many domains that honest pages are tricked into linking to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tests.graph.reference.array_edges import ArrayEdges
from tests.graph.reference.page_rank import RankOptions, page_rank

Nodes = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

PAGES_PER_HOST = 50
PAGES_PER_SPAM_HOST = 400
HOSTS_PER_COMMUNITY = 80
FARMS = 10
LINKS_PER_PAGE = 10
SEEDS = 50


@dataclass(frozen=True, eq=False)
class Web:
    """Pages by number, honest ones first; each host's lie together, its home page first."""

    honest: int
    """How many pages are."""
    host_of: Nodes
    honest_hosts: int
    host_count: int
    sources: Nodes
    destinations: Nodes
    """All links, each once, by source."""
    first_link: Nodes
    """Where the links of each page begin, and at the end their number."""
    seeds: Nodes
    truth: Floats
    """The PageRank of honest pages on the honest web; a spam page is worth nothing."""
    raw: Floats
    """PageRank on the whole web, in which the farm has what it made up."""

    @property
    def pages(self) -> int:
        return len(self.host_of)

    def links_of(self, pages: Nodes) -> tuple[Nodes, Nodes]:
        """The links of some pages, in their order."""
        counts = self.first_link[pages + 1] - self.first_link[pages]
        starts = np.cumsum(counts) - counts
        places = np.repeat(self.first_link[pages] - starts, counts) + np.arange(counts.sum())
        return self.sources[places], self.destinations[places]


def make_web(
    pages: int,
    spam: float,
    hijacked: float,
    seed: int,
    pages_a_spam_host: int = PAGES_PER_SPAM_HOST,
) -> Web:
    """A web of so many pages, of which a share is spam; `hijacked` of the links between honest
    hosts lead into the farm instead."""
    random = np.random.default_rng(seed)
    spam_pages = int(pages * spam)
    honest = pages - spam_pages
    hosts = max(honest // PAGES_PER_HOST, 20)
    spam_hosts = max(spam_pages // pages_a_spam_host, FARMS) if spam_pages else 0
    sizes = np.concatenate([_power_law(honest, hosts), _even(spam_pages, spam_hosts)])
    home = np.cumsum(sizes) - sizes
    host_of = np.repeat(np.arange(len(sizes)), sizes)
    # how likely a host is linked to: a heavy tail, and more for the larger
    popular = (random.pareto(1.1, hosts) + 0.05) * sizes[:hosts] ** 0.3

    degrees = np.clip(random.lognormal(np.log(LINKS_PER_PAGE) - 0.5, 1.0, pages), 1, 200).astype(
        int
    )
    degrees[:honest][random.random(honest) < 0.07] = 0
    degrees[honest:] = np.maximum(degrees[honest:], LINKS_PER_PAGE)
    sources = np.repeat(np.arange(pages), degrees)
    destinations = np.empty(len(sources), dtype=np.int64)

    def aim(links: Nodes, at: Nodes, skew: float, home_share: float) -> None:
        """Lets links lead to pages of hosts, early ones and home pages more often."""
        inner = (sizes[at] * random.random(len(at)) ** skew).astype(np.int64)
        inner[random.random(len(at)) < home_share] = 0
        destinations[links] = home[at] + inner

    is_spam = sources >= honest
    is_internal = ~is_spam & (random.random(len(sources)) < 0.7)
    internal = np.flatnonzero(is_internal)
    aim(internal, host_of[sources[internal]], 2.5, 0.15)
    external = np.flatnonzero(~is_spam & ~is_internal)
    aim(external, _chosen_hosts(random, host_of[sources[external]], popular), 4.0, 0.4)
    if spam_hosts:
        tricked = external[random.random(len(external)) < hijacked]
        aim(tricked, hosts + random.integers(0, spam_hosts, len(tricked)), 3.0, 0.0)
        farmed = np.flatnonzero(is_spam)
        own = host_of[sources[farmed]] - hosts
        other = own % FARMS + FARMS * random.integers(0, max(spam_hosts // FARMS, 1), len(farmed))
        stays = random.random(len(farmed)) < 0.5
        at = hosts + np.where(stays, own, np.minimum(other, spam_hosts - 1))
        aim(farmed, at, 1.0, 0.2)
        disguise = farmed[random.random(len(farmed)) < 0.1]
        aim(disguise, random.choice(hosts, len(disguise), p=popular / popular.sum()), 1.0, 1.0)
    # navigation: every page but the home page hangs below an earlier one of its host
    place = np.arange(pages) - home[host_of]
    inner = np.flatnonzero(place > 0)
    above = (place[inner] * random.random(len(inner)) ** 1.5).astype(np.int64)
    keys = np.unique(
        np.concatenate([sources, home[host_of[inner]] + above]) * pages
        + np.concatenate([destinations, inner])
    )
    sources, destinations = keys // pages, keys % pages
    seeds = home[random.choice(hosts, min(SEEDS, hosts), replace=False, p=popular / popular.sum())]
    is_honest = (sources < honest) & (destinations < honest)
    truth = np.zeros(pages)
    truth[:honest] = _ranks(sources[is_honest], destinations[is_honest], honest)
    return Web(
        honest=honest,
        host_of=host_of,
        honest_hosts=hosts,
        host_count=len(sizes),
        sources=sources,
        destinations=destinations,
        first_link=np.searchsorted(sources, np.arange(pages + 1)),
        seeds=seeds,
        truth=truth,
        raw=_ranks(sources, destinations, pages),
    )


def _power_law(total: int, parts: int) -> Nodes:
    weights = np.arange(1, parts + 1) ** -0.9
    sizes = np.maximum((weights / weights.sum() * total).astype(np.int64), 1)
    sizes[0] += total - sizes.sum()
    return sizes


def _even(total: int, parts: int) -> Nodes:
    sizes = np.full(parts, total // max(parts, 1), dtype=np.int64)
    if parts:
        sizes[0] += total - sizes.sum()
    return sizes


def _chosen_hosts(random: np.random.Generator, of: Nodes, popular: Floats) -> Nodes:
    """Seven of ten links between hosts stay in the community, all by popularity."""
    hosts = len(popular)
    communities = max(hosts // HOSTS_PER_COMMUNITY, 4)
    community = random.integers(0, communities, hosts)
    order = np.argsort(community, kind="stable")
    sums = np.concatenate([[0.0], np.cumsum(popular[order])])
    first = np.searchsorted(community[order], np.arange(communities + 1))
    low, high = sums[first[community[of]]], sums[first[community[of] + 1]]
    far = random.random(len(of)) >= 0.7
    low, high = np.where(far, 0.0, low), np.where(far, sums[-1], high)
    at = np.searchsorted(sums, low + random.random(len(of)) * (high - low), side="right") - 1
    return order[np.clip(at, 0, hosts - 1)]


def _ranks(sources: Nodes, destinations: Nodes, pages: int) -> Floats:
    return page_rank(ArrayEdges.of(sources, destinations, pages), RankOptions(tolerance=1e-8)).ranks
