"""How much of a host goes on one list where the next list is made while that one is fetched.

A list that takes all that is due leaves nothing for the next: its fetch has to end before anything
can be found, and nothing overlaps. Lists of half a mean host leave work for another one, and last
long enough for the rest of a round to be done beside them.
"""

from __future__ import annotations

import math

_OVERHEADS = 1.5
"""A fetch lasts so many times as long as what is done beside it, so that it seldom waits."""


def pages_of_a_host(mean_due: float, overhead_s: float, page_s: float) -> int:
    """Most URLs of one host on a list. `mean_due`: due URLs of a host in the mean, 0 where that is
    not known; `overhead_s`: of parse, updatedb and generate; `page_s`: what a page takes."""
    beside = _OVERHEADS * overhead_s / page_s if page_s > 0 else 0.0
    return max(1, math.ceil(max(mean_due / 2, beside)))
