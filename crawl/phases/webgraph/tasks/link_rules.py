"""Which links of pages count in the link graph: over the links of many pages at once.

A link is told by numbers: its page's, and its target's among the distinct ones. Whatever is asked
of hosts, domains and paths is asked of distinct URLs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from crawl.counters import Counters
from crawl.model.arrow import as_mask
from crawl.phases.webgraph.rules import LinkRules
from crawl.urls.domains import domains_of

Numbers = npt.NDArray[np.int64]


def sites_of(rules: LinkRules, urls: pa.Array[Any], hosts: pa.Array[Any]) -> pa.Array[Any]:
    """What a URL shares with those that count once beside it: its domain, or its page, or
    nothing but the URL. Pages of several domains are several, so the domain suffices."""
    if rules.limit_domain:
        return domains_of(hosts)
    return page_of(urls) if rules.limit_page else urls


def page_of(urls: pa.Array[Any]) -> pa.Array[Any]:
    """Scheme, host and path of URLs, in lower case."""
    lower: pa.Array[Any] = pc.utf8_lower(pc.replace_substring_regex(urls, r"(?s)[?#].*$", ""))
    return lower


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """Links of pages, in the order of pages and documents."""

    pages: Numbers
    """The number of the page of each link."""
    targets: Numbers
    """The number of what it links to, among `urls`."""
    page_hosts: pa.Array[Any]
    """Of each page."""
    urls: pa.Array[Any]
    """The distinct targets; null where one is none."""
    hosts: pa.Array[Any]
    """Theirs; null where it has none."""


def counted_links(rules: LinkRules, links: Links, counters: Counters) -> Numbers:
    """The places of the links that count; all others are counted by their reason."""
    counters["links"] += len(links.pages)
    is_url = as_mask(pc.is_valid(links.hosts))
    places = np.flatnonzero(is_url[links.targets])
    counters["dropped.filtered"] += len(links.pages) - len(places)
    places = _without_internal(rules, links, places, counters)
    first = _first_of_each(links, places, np.arange(len(links.urls), dtype=np.int64))
    counters["dropped.repeated"] += len(places) - len(first)
    if rules.is_limited and len(first):
        sites = sites_of(rules, links.urls, links.hosts).dictionary_encode()
        codes = sites.indices.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
        count, first = len(first), _first_of_each(links, first, codes)
        reason = "dropped.limit_domain" if rules.limit_domain else "dropped.limit_page"
        counters[reason] += count - len(first)
    counters["links_counted"] += len(first)
    return first


def _without_internal(
    rules: LinkRules, links: Links, places: Numbers, counters: Counters
) -> Numbers:
    of_pages, of_targets = links.page_hosts, links.hosts
    for is_wanted, reason in (
        (rules.ignore_internal_host, "dropped.internal_host"),
        (rules.ignore_internal_domain, "dropped.internal_domain"),
    ):
        if not is_wanted or len(places) == 0:
            continue
        if reason == "dropped.internal_domain":
            of_pages, of_targets = domains_of(of_pages), domains_of(of_targets)
        both = pa.concat_arrays([of_pages, of_targets]).dictionary_encode().indices
        codes = both.fill_null(-1).to_numpy(zero_copy_only=False)
        page_codes, target_codes = codes[: len(of_pages)], codes[len(of_pages) :]
        leads_out = page_codes[links.pages[places]] != target_codes[links.targets[places]]
        counters[reason] += int(len(places) - np.count_nonzero(leads_out))
        places = places[leads_out]
    return places


def _first_of_each(links: Links, places: Numbers, codes: Numbers) -> Numbers:
    """Of the links of a page whose targets have the same code the first."""
    if len(places) == 0:
        return places
    keys = links.pages[places] * (int(codes.max()) + 1) + codes[links.targets[places]]
    first: Numbers = places[np.sort(np.unique(keys, return_index=True)[1])]
    return first
