"""What the crawl's caches `robots`, `servers` and `sitemaps` say of hosts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from crawl.model.arrow import as_mask
from crawl.phases.updatehostdb.tasks.sums import (
    CRAWL_DELAYS,
    ROBOTS_STATE,
    SITEMAP_STATE,
    send_by_host,
    table_of,
)
from crawl.robots.answer import RobotsPolicy, rules_from_answer
from crawl.robots.rules import RobotRules
from crawl.storage.folder import Folder
from crawl.storage.parquet import each_group, open_table
from crawl.storage.robots_store import to_answers
from crawl.tables.exchange import Outbox

_CRAWL_DELAY_LINE = r"(?i)crawl[- ]?delay"
_SITEMAP_LINE = r"(?im)^[ \t]*site-?map[ \t]*:"


@dataclass(frozen=True, slots=True)
class RobotsFile:
    """A file of the dataset `robots`."""

    folder: Folder
    path: str
    rows: int


@dataclass(frozen=True, slots=True)
class ServersFile:
    """A file of the dataset `servers`."""

    folder: Folder
    path: str
    rows: int


@dataclass(frozen=True, slots=True)
class SitemapsFile:
    """A file of the dataset `sitemaps`."""

    folder: Folder
    path: str
    rows: int


def send_robots_states(
    file: RobotsFile, policy: RobotsPolicy, buckets: int, outbox: Outbox
) -> None:
    """Sends when each host was asked for its robots.txt, and what it said."""
    with open_table(file.folder, file.path) as source:
        for rows in each_group(source):
            lines = pc.count_substring_regex(rows["content"], pattern=_SITEMAP_LINE)
            columns = {
                "host": rows["host"].combine_chunks(),
                "asked_at": rows["asked_at"].combine_chunks(),
                "code": rows["code"].combine_chunks(),
                "sitemaps": lines.combine_chunks().cast(pa.int32()),
                "crawl_delay_s": _asked_pauses(rows, policy),
            }
            send_by_host(ROBOTS_STATE, table_of(ROBOTS_STATE, columns), buckets, outbox)


def _asked_pauses(rows: pa.Table, policy: RobotsPolicy) -> npt.NDArray[np.float64]:
    """The pauses that these robots.txt ask of this crawler; 0 for none. Few ask for one: only
    those are read line by line."""
    pauses = np.zeros(rows.num_rows)
    asking = as_mask(pc.match_substring_regex(rows["content"], pattern=_CRAWL_DELAY_LINE))
    for place in np.flatnonzero(asking).tolist():
        for answer in to_answers(rows.slice(place, 1)):
            rules = rules_from_answer(answer.as_answer(), policy, answer.asked_ms)
            if isinstance(rules, RobotRules):
                pauses[place] = rules.crawl_delay_s or 0.0
    return pauses


def send_crawl_delays(file: ServersFile, buckets: int, outbox: Outbox) -> None:
    """Sends the pauses that fetches keep by robots.txt, also where that was not stored. A server
    is a host, unless `fetcher.queue.mode` says otherwise: then no host has its name."""
    with open_table(file.folder, file.path) as source:
        for rows in each_group(source, ["server", "crawl_delay_s"]):
            rows = rows.filter(pc.greater(rows["crawl_delay_s"], pa.scalar(0.0)))
            columns = {
                "host": rows["server"].combine_chunks(),
                "crawl_delay_s": rows["crawl_delay_s"].combine_chunks(),
            }
            send_by_host(CRAWL_DELAYS, table_of(CRAWL_DELAYS, columns), buckets, outbox)


def send_sitemap_states(file: SitemapsFile, buckets: int, outbox: Outbox) -> None:
    """Sends what became of each host's sitemaps."""
    with open_table(file.folder, file.path) as source:
        for rows in each_group(source, SITEMAP_STATE.schema.names):
            columns = {name: rows[name].combine_chunks() for name in rows.column_names}
            send_by_host(SITEMAP_STATE, table_of(SITEMAP_STATE, columns), buckets, outbox)
