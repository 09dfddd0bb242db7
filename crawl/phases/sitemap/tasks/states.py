"""What became of the sitemaps of sites, on its way from the tasks that asked to the buckets of the
dataset `sitemaps`."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from crawl.model.tables import SITEMAPS
from crawl.phases.sitemap.tasks.values import SiteState
from crawl.storage.folder import Folder
from crawl.storage.row_files import read_rows, write_rows
from crawl.tables.exchange import Outbox
from crawl.tables.slices import Router
from crawl.tables.table_merge import send_delta


def write_states(folder: Folder, states: Mapping[str, SiteState], asked_ms: int) -> str | None:
    """The name of the file with the states that one task knows; None where there are none."""
    return write_rows(folder, "states", _table(states, asked_ms)) if states else None


def send_states(scratch: Folder, router: Router, name: str, outbox: Outbox) -> None:
    """Sends the states of a file to their buckets."""
    send_delta(SITEMAPS, read_rows(scratch, name), router, outbox)


def joined_states(rows: pa.Table) -> pa.Table:
    """One row for each host of rows that are sorted by host: several tasks, or waves, may have
    asked on its behalf. The last word about trouble counts."""
    states: dict[str, SiteState] = {}
    asked_ms = 0
    for row in rows.set_column(1, "asked_at", rows["asked_at"].cast(pa.int64())).to_pylist():
        state = SiteState(row["read"], row["failed"], row["urls"], row["trouble"])
        states[row["host"]] = states.get(row["host"], SiteState()) + state
        asked_ms = row["asked_at"]  # one job's, and so the same in all
    return _table(states, asked_ms)


def _table(states: Mapping[str, SiteState], asked_ms: int) -> pa.Table:
    found = [
        {
            "host": host,
            "asked_at": asked_ms,
            "read": state.read,
            "failed": state.failed,
            "urls": state.urls,
            "trouble": state.trouble,
        }
        for host, state in states.items()
    ]
    return pa.Table.from_pylist(found, SITEMAPS.schema)
