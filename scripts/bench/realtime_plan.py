"""Which URLs the load of the realtime benchmark has, and what the web says to each: everything
follows from the seed and from the URL itself, so that whoever knows the URL knows its chain.

    http://h3.d17.test:PORT/p42                         a page
    http://s5.short.test:PORT/r/h3.d17.test/p42         a redirect to it
    http://h1.d4.test:PORT/r/s5.short.test/r/h3.d17.test/p42    two of them
    http://h3.d17.test:PORT/private/p42                 what robots.txt forbids
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import urlsplit
from zlib import crc32

import numpy as np
import numpy.typing as npt

ROBOTS = "/robots.txt"
_PRIVATE = "/private/"
_REDIRECT = "/r/"
_MOST_HOPS = 8
MEDIAN_S = 0.2
LONGEST_S = 3.0
_SIGMA = 0.9
"""Of the logarithm: p90 is 0.63 s and p99 1.6 s with a median of 0.2 s."""
_FINE = 1 << 16
_WAVES: npt.NDArray[np.float64] = np.sort(np.random.default_rng(1).standard_normal(_FINE))
_LATENCIES = np.minimum(MEDIAN_S * np.exp(_SIGMA * _WAVES), LONGEST_S).tolist()


class Kind(StrEnum):
    """What the web does with a request."""

    PAGE = "page"
    REDIRECT = "redirect"
    ROBOTS = "robots"
    UNAVAILABLE = "unavailable"
    """503."""
    RESET = "reset"
    SILENCE = "silence"
    """Nothing is ever said."""


@dataclass(frozen=True, slots=True)
class LoadShape:
    """What is drawn from."""

    rate: float
    """URLs a second."""
    seconds: float
    domains: int = 2000
    exponent: float = 1.0
    """Of Zipf's law over domains."""
    host_rate: float = 0.5
    """URLs a second that a host has at most: a domain with more of them has more hosts. One
    server answers two or three a second where one is asked at a time."""
    redirects: float = 0.1
    repeats: float = 0.05
    """Share that came before."""
    private: float = 0.005
    seed: int = 1

    @property
    def count(self) -> int:
        return round(self.rate * self.seconds)


@dataclass(frozen=True, slots=True)
class Hop:
    """One request of a URL's chain."""

    host: str
    path: str


def zipf_shares(count: int, exponent: float) -> npt.NDArray[np.float64]:
    """The share of each of so many domains, the largest first."""
    weights = np.arange(1, count + 1, dtype=np.float64) ** -exponent
    return weights / weights.sum()


def load_urls(shape: LoadShape, port: int) -> list[str]:
    """The URLs in the order in which they are submitted."""
    rng = np.random.default_rng(shape.seed)
    shares = zipf_shares(shape.domains, shape.exponent)
    hosts = np.maximum(1, np.ceil(shares * shape.rate / shape.host_rate)).astype(int)
    domains = rng.choice(shape.domains, shape.count, p=shares)
    host_numbers = rng.integers(0, hosts[domains])
    shorteners = max(2, math.ceil(shape.rate * shape.redirects / shape.host_rate))
    draws = rng.random((3, shape.count))
    shortener_draws = rng.integers(0, shorteners, (2, shape.count))
    urls: list[str] = []
    for number in range(shape.count):
        repeats, redirects, private = draws[:, number]
        if urls and repeats < shape.repeats:
            urls.append(urls[int(repeats / shape.repeats * len(urls))])
            continue
        host = f"h{host_numbers[number]}.d{domains[number]}.test"
        path = f"/p{number}"
        if private < shape.private:
            path = f"/private/p{number}"
        if redirects < shape.redirects:
            share = redirects / shape.redirects
            first, second = (f"s{each}.short.test" for each in shortener_draws[:, number])
            if share < 0.3:  # within the host
                path = f"/r/{host}{path}"
            elif share < 0.8:
                host, path = first, f"/r/{host}{path}"
            else:
                host, path = first, f"/r/{second}/r/{host}{path}"
        urls.append(f"http://{host}:{port}{path}")
    return urls


def target_of(path: str) -> Hop | None:
    """Where a path is redirected to."""
    if not path.startswith(_REDIRECT):
        return None
    host, slash, rest = path[len(_REDIRECT) :].partition("/")
    return Hop(host, slash + rest)


def chain_of(url: str) -> list[Hop]:
    """All requests that a URL leads to, the page's last."""
    parts = urlsplit(url)
    hop: Hop | None = Hop(parts.hostname or "", parts.path)
    chain: list[Hop] = []
    while hop is not None and len(chain) < _MOST_HOPS:
        chain.append(hop)
        hop = target_of(hop.path)
    return chain


def is_private(url: str) -> bool:
    """Whether robots.txt forbids the end of its chain."""
    return chain_of(url)[-1].path.startswith(_PRIVATE)


def latency_s(host: str, path: str, attempt: int) -> float:
    """How long the web takes for that request: log-normal, of bounded length."""
    return float(_LATENCIES[_draw(host, path, attempt, "latency") * _FINE >> 32])


def kind_of(host: str, path: str, attempt: int, errors: float) -> Kind:
    """What the web does with that request. Half of what failed fails once more."""
    if path == ROBOTS:
        return Kind.ROBOTS
    drawn = _draw(host, path, attempt, "error") / 2**32
    failed_before = attempt > 0 and kind_of(host, path, attempt - 1, errors) in _FAILURES
    share = 0.5 if failed_before else errors
    if drawn < share:
        return _FAILURES[min(2, int(3 * drawn / share))]
    return Kind.REDIRECT if path.startswith(_REDIRECT) else Kind.PAGE


_FAILURES = (Kind.UNAVAILABLE, Kind.RESET, Kind.SILENCE)


def _draw(host: str, path: str, attempt: int, what: str) -> int:
    """32 bits that belong to it; crc32 alone is linear, so they are mixed."""
    mixed = crc32(f"{what} {attempt} {host} {path}".encode()) * 0x9E3779B97F4A7C15
    mixed &= 0xFFFF_FFFF_FFFF_FFFF
    mixed ^= mixed >> 29
    mixed = mixed * 0xBF58476D1CE4E5B9 & 0xFFFF_FFFF_FFFF_FFFF
    return mixed >> 32
