"""What a task tells the later steps of URLs and hosts by name: one file of rows a task, so that
the driver hears no more of it than the file's name."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

import pyarrow as pa
import pyarrow.compute as pc

from crawl.model.arrow import required_schema
from crawl.storage.folder import Folder
from crawl.storage.row_files import read_rows, write_rows

NOTES = required_schema(
    {
        "topic": pa.string(),
        "name": pa.string(),
        "value": pa.string(),
        "count": pa.int64(),
    }
)


class Topic(StrEnum):
    """What a note is about."""

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
    if not rows:
        return None
    columns = [
        pa.array(column, field.type)
        for column, field in zip(zip(*rows, strict=True), NOTES, strict=True)
    ]
    return write_rows(folder, "notes", pa.table(columns, schema=NOTES))


def read_notes(folder: Folder, name: str, topic: Topic) -> pa.Table:
    """The notes of one topic."""
    rows = read_rows(folder, name)
    return rows.filter(pc.equal(rows["topic"], pa.scalar(topic.value)))
