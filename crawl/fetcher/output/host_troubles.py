"""What a task of a fetch tells of hosts that failed it: a file, whose name is all that the driver
hears, however many hosts they are.

    SEGMENT/fetch_hosts/part-00003-1f2e3d4c.parquet

The part's end (DONE.json) names the file. A task that goes on after another's death takes over
what that one told: pages that failed have a record and are not asked for again.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

from crawl.errors import StorageError
from crawl.model.hosts import HostTrouble, merged_troubles, to_troubles, troubles_table
from crawl.model.tables import FETCH_HOSTS
from crawl.storage.chunks import Piece
from crawl.storage.folder import Folder, attempt_name
from crawl.storage.parquet import each_group, open_table, open_writer
from crawl.storage.segments import FETCH_HOSTS as PART

_FILE_KEY = "host_troubles"
"""The key of the file in a part's end."""
_ROWS = "troubles"
"""The key under which ends of former releases have the rows themselves."""

_log = logging.getLogger(__name__)


def write_host_troubles(
    segment: Folder, part: int, troubles: Iterable[HostTrouble], *, is_resumed: bool
) -> Piece | None:
    """Writes the troubles of a task and of those before it; None where there are none."""
    folder = segment.child(PART)
    before = _told_before(folder, part) if is_resumed else ()
    merged = merged_troubles([*before, *troubles])
    if not merged:
        return None
    name = attempt_name(_stem(part))
    with open_writer(folder, name, FETCH_HOSTS.schema) as writer:
        writer.write(troubles_table(merged))
    return Piece(name, writer.rows, writer.bytes)


def told_of(troubles: Piece | None) -> dict[str, Any]:
    """The file as a part's end names it."""
    return {_FILE_KEY: None if troubles is None else asdict(troubles)}


def troubles_told(segment: Folder, part: int, finished: Mapping[str, Any]) -> Piece | None:
    """The file that a part's end names. One that is gone is none: its hosts are tried again, and
    that is all."""
    rows = finished.get(_ROWS)
    if rows:
        troubles = [HostTrouble(*row) for row in rows]
        return write_host_troubles(segment, part, troubles, is_resumed=False)
    entry = finished.get(_FILE_KEY)
    if entry is None:
        return None
    piece = Piece(**entry)
    if segment.child(PART).exists(piece.path):
        return piece
    _log.warning("%s is missing; its hosts are tried again", segment.child(PART).path(piece.path))
    return None


def _told_before(folder: Folder, part: int) -> Iterator[HostTrouble]:
    for name in folder.names():
        if not name.startswith(f"{_stem(part)}-") or not name.endswith(".parquet"):
            continue
        try:
            with open_table(folder, name) as source:
                found = [each for rows in each_group(source) for each in to_troubles(rows)]
        except StorageError as error:
            _log.warning("%s; its hosts are tried again", error)
            continue
        yield from found


def _stem(part: int) -> str:
    return f"part-{part:05d}"
