"""Hosts of a small web, and the pauses that they saw."""

from __future__ import annotations

import itertools
from collections import defaultdict

from crawl.fetcher.drivers.virtual import SentRequest
from tests.fetcher.small_web import Page


def host(name: str, pages: int, robots: Page | None = None) -> dict[str, Page]:
    """The pages of a host, with a robots.txt if one is given."""
    made: dict[str, Page] = {f"http://{name}/p{n}": f"page {n}" for n in range(pages)}
    if robots is not None:
        made[f"http://{name}/robots.txt"] = robots
    return made


def urls_of(pages: dict[str, Page]) -> list[str]:
    return [url for url in pages if not url.endswith("/robots.txt")]


def gaps(sent: list[SentRequest], key: str = "host") -> list[float]:
    """From the end of a request to the start of the next one to the same server."""
    by_key: dict[str, list[SentRequest]] = defaultdict(list)
    for each in sorted(sent, key=lambda each: each.begun):
        by_key[getattr(each, key)].append(each)
    return [
        later.begun - earlier.ended
        for each in by_key.values()
        for earlier, later in itertools.pairwise(each)
    ]
