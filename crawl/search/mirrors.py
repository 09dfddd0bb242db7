"""Which of the hosts that a query finds pages of are mirrors of each other.

Two hosts that have one text in common may have quoted it; of a mirror most pages that are found are
copies. The bound on a host's results is one for it and its mirrors: which of two copies ranks a
little higher is chance, and each would bring in other pages of the same site.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import combinations

from crawl.search.near_texts import parts_of

_MIN_SHARED = 6
"""Parts of sketches: of two texts nearly all."""
_SHARE = 0.5
"""Of the parts of the host with fewer, that both must have."""
_MAX_HOSTS = 8
"""With one part, that are compared: what is everywhere tells nothing."""


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
