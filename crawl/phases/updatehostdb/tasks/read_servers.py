"""What the crawl's caches `robots`, `servers` and `sitemaps` say of hosts."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from crawl.model.arrow import as_mask
from crawl.robots.answer import RobotsPolicy, rules_from_answer
from crawl.robots.rules import RobotRules
from crawl.storage.robots_store import to_answers

_CRAWL_DELAY_LINE = r"(?i)crawl[- ]?delay"
_SITEMAP_LINE = r"(?im)^[ \t]*site-?map[ \t]*:"


def robots_states(rows: pa.Table, policy: RobotsPolicy) -> dict[str, Any]:
    """When each host was asked for its robots.txt, and what it said."""
    lines = pc.count_substring_regex(rows["content"], pattern=_SITEMAP_LINE)
    return {
        **as_columns(rows.select(["host", "asked_at", "code"])),
        "sitemaps": lines.combine_chunks().cast(pa.int32()),
        "crawl_delay_s": _asked_pauses(rows, policy),
    }


def _asked_pauses(rows: pa.Table, policy: RobotsPolicy) -> npt.NDArray[np.float64]:
    """The pauses that these robots.txt ask of this crawler; 0 for none. Few ask for one: only
    those are read line by line."""
    pauses = np.zeros(rows.num_rows)
    has_line = as_mask(pc.match_substring_regex(rows["content"], pattern=_CRAWL_DELAY_LINE))
    for place in np.flatnonzero(has_line).tolist():
        for answer in to_answers(rows.slice(place, 1)):
            rules = rules_from_answer(answer.as_answer(), policy, answer.asked_ms)
            if isinstance(rules, RobotRules):
                pauses[place] = rules.crawl_delay_s or 0.0
    return pauses


def crawl_delays(rows: pa.Table) -> dict[str, Any]:
    """The pauses that fetches keep by robots.txt, also where that was not stored. A server is a
    host, unless `fetcher.queue.mode` says otherwise: then no host has its name."""
    return as_columns(
        rows.filter(pc.greater(rows["crawl_delay_s"], pa.scalar(0.0))).rename_columns(
            {"server": "host"}
        )
    )


def as_columns(rows: pa.Table) -> dict[str, Any]:
    """The columns by name, each in one piece."""
    return {name: rows[name].combine_chunks() for name in rows.column_names}
