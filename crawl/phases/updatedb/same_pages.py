"""Hosts whose new URLs keep giving the same page: soft 404s, facets without end.

A page counts when it is fetched for the first time. Where all but a few of a host's last such
pages have one signature, its new URLs have to wait, for twice as long with each round that
brings more of the same; other pages end it. Pages that are known are fetched as ever.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from crawl.model.hosts import HostState

_SHARE = 0.9
"""More of the pages than this must be the same."""
_WINDOW = 4
"""So many times the least number of pages are remembered, then half as many."""
_WORTH_KNOWING = 10
"""Fewer pages that are the same are not worth a row for the host."""


@dataclass(frozen=True, slots=True)
class SamePagesRule:
    """When a host is slowed, and by how much."""

    min_pages: int
    """Pages that must have been fetched; 0: no host is ever slowed."""
    base_ms: int
    longest_ms: int


def after_pages(
    state: HostState, signatures: Mapping[bytes, int], at: int, rule: SamePagesRule
) -> HostState:
    """The host's state after so many new pages with each signature, the last of them fetched
    at a moment."""
    if not rule.min_pages or not signatures:
        return state
    total = sum(signatures.values())
    signature, count = max(signatures.items(), key=lambda item: (item[1], item[0]))
    same = signatures.get(state.signature, 0) if state.signature is not None else 0
    if count > state.repeats + same:
        pages, repeats = total, count  # another page than before is the usual one
    else:
        signature = state.signature or b""
        pages, repeats = state.pages + total, state.repeats + same
    while pages > _WINDOW * rule.min_pages:
        pages, repeats = pages // 2, repeats // 2
    if repeats < _WORTH_KNOWING:
        return replace(state, pages=0, repeats=0, signature=None, slowed=0, slow_until=0)
    state = replace(state, pages=pages, repeats=repeats, signature=signature)
    if pages < rule.min_pages or repeats <= _SHARE * pages:
        return replace(state, slowed=0, slow_until=0)
    slowed = state.slowed + 1
    wait_ms = min(rule.base_ms << min(slowed - 1, 30), rule.longest_ms)
    return replace(state, slowed=slowed, slow_until=max(state.slow_until, at + wait_ms))
