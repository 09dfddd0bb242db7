"""What tasks tell the later steps, in files of rows: the driver hears no more of it than the names
of these.

sources  what is to be asked for, on its way to the task that asks its server. A row also says what
         was read on behalf of the site so far, as far as whoever sends it knows: the site's limits
         hold from wave to wave
notes    of URLs and hosts, by name
states   what became of the sitemaps of sites, on its way to the buckets of the dataset `sitemaps`
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, astuple
from enum import StrEnum

import pyarrow as pa
from msgspec import convert, to_builtins

from crawl.model.arrow import equals, required_schema
from crawl.model.builders import rows_of, table_of_rows
from crawl.model.tables import SITEMAPS
from crawl.phases.sitemap.tasks.values import SitemapSource, SiteState, SiteUsage
from crawl.storage.folder import Folder
from crawl.storage.row_files import read_rows, write_rows
from crawl.tables.exchange import Outbox
from crawl.tables.slices import Router
from crawl.tables.table_merge import send_delta

SOURCES = required_schema(
    {
        "url": pa.string(),
        "site": pa.string(),
        "kind": pa.string(),
        "depth": pa.int32(),
        "scopes": pa.list_(pa.string()),
        "sitemaps": pa.int64(),
        "urls": pa.int64(),
        "server": pa.string(),
    }
)
"""`server` is the key of the server that is asked; a task's own file leaves it empty."""

SourceRow = tuple[SitemapSource, SiteUsage, str]
"""A source, what was read for its site, and its server."""


def sources_table(rows: Iterable[SourceRow]) -> pa.Table:
    """The sources as rows."""
    values = [
        to_builtins(source, order="deterministic") | asdict(used) | {"server": server}
        for source, used, server in rows
    ]
    return pa.Table.from_pylist(values, SOURCES)


def to_sources(table: pa.Table) -> Iterator[SourceRow]:
    """The sources that rows hold."""
    for row in table.to_pylist():
        yield convert(row, SitemapSource), convert(row, SiteUsage), row["server"]


NOTES = required_schema(
    {"topic": pa.string(), "name": pa.string(), "value": pa.string(), "count": pa.int64()}
)


class Topic(StrEnum):
    """The subject of a note."""

    ASKED = "asked"
    """A URL that need not be asked for again."""
    SCOPE = "scope"
    """A sitemap, and a scope that it has."""
    LINK = "link"
    """An index and a sitemap that it lists, or a URL and where it redirects to."""
    ROBOTS_READ = "robots_read"
    """A host whose robots.txt is known."""
    UNPROVED = "unproved"
    """A host, its origin, and how many of its URLs are listed by sitemaps elsewhere."""


Note = tuple[Topic, str, str, int]


def write_notes(folder: Folder, notes: Iterable[Note]) -> str | None:
    """The name of the file; None where there is nothing to tell."""
    rows = list(notes)
    return write_rows(folder, "notes", table_of_rows(rows, NOTES)) if rows else None


def read_notes(folder: Folder, name: str, topic: Topic) -> pa.Table:
    """The notes of one topic."""
    rows = read_rows(folder, name)
    return rows.filter(equals(rows["topic"], topic.value))


def write_states(folder: Folder, states: Mapping[str, SiteState], asked_ms: int) -> str | None:
    """The name of the file with the states that one task knows; None where there are none."""
    return write_rows(folder, "states", _states_table(states, asked_ms)) if states else None


def send_states(scratch: Folder, router: Router, name: str, outbox: Outbox) -> None:
    """Sends the states of a file to their buckets."""
    send_delta(SITEMAPS, read_rows(scratch, name), router, outbox)


def joined_states(rows: pa.Table) -> pa.Table:
    """One row for each host of rows that are sorted by host: several tasks, or waves, may have
    asked on its behalf. The last word about trouble counts."""
    states: dict[str, SiteState] = {}
    asked_ms = 0
    for host, asked_ms, *state in rows_of(rows, SITEMAPS.names):  # noqa: B007
        states[host] = states.get(host, SiteState()) + SiteState(*state)
    return _states_table(states, asked_ms)


def _states_table(states: Mapping[str, SiteState], asked_ms: int) -> pa.Table:
    rows = [(host, asked_ms, *astuple(state)) for host, state in states.items()]
    return table_of_rows(rows, SITEMAPS.schema)
