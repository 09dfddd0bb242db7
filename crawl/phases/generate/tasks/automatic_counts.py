"""How many URLs of a host a segment takes where `generate.max.count` is `auto`: pure arithmetic on
columns of the HostDb.

A host of which nothing is known gets all that any may have. What it fails to answer, what it
refuses (404) and what is a page that it has elsewhere too makes it less, by the square of the
share that is worth fetching; each round in which it gave no page halves it. The
first few requests and pages tell little and count little. No host gets none.
"""

from __future__ import annotations

import numpy as np

from crawl.phases.generate.tasks.arrays import Floats, Integers

_PRIOR = 10
"""So many good answers, and different pages, a host is taken to have had before the first."""
_MAX_HALVINGS = 30


def automatic_counts(
    most: int,
    requests: Integers,
    vain: Integers,
    pages: Integers,
    duplicates_share: Floats,
    failures: Integers,
) -> Integers:
    """The bound of each host; `vain` of its requests brought no page."""
    answered = answered_share(requests, vain)
    different = different_share(pages, duplicates_share)
    halved = 0.5 ** np.minimum(failures, _MAX_HALVINGS)
    counts = np.ceil(most * (answered * different) ** 2 * halved - 1e-9)
    return np.clip(counts, 1, most).astype(np.int64)


def answered_share(requests: Integers, vain: Integers) -> Floats:
    """The share of requests that brought a page, with those that any host is taken to have had."""
    share: Floats = (requests - vain + _PRIOR) / (requests + _PRIOR)
    return share


def different_share(pages: Integers, duplicates_share: Floats) -> Floats:
    """Of the pages those that no other repeats, likewise."""
    share: Floats = 1 - duplicates_share * pages / (pages + _PRIOR)
    return share


def explained_count(
    most: int, requests: int, vain: int, pages: int, duplicates_share: float, failures: int
) -> tuple[int, str]:
    """The bound of one host, and why in a few words."""
    asked, lost, page_counts = (np.array([each]) for each in (requests, vain, pages))
    share = np.array([duplicates_share])
    count = int(automatic_counts(most, asked, lost, page_counts, share, np.array([failures]))[0])
    if count == most:
        return count, "it answers and does not repeat itself"
    answered = float(answered_share(asked, lost)[0])
    different = float(different_share(page_counts, share)[0])
    why = [f"{most:,} × (answered {answered:.2f} × different {different:.2f})²"]
    if failures:
        rounds = "a round" if failures == 1 else f"{failures:,} rounds"
        why.append(f"halved for {rounds} without an answer")
    return count, ", ".join(why)
