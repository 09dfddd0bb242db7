"""What a task of a fetch leaves at its end, beside pages: files, whose names are all that the
driver hears, however many rows they have. The part's end (DONE.json) names them.

    SEGMENT/crawl_fetch/cross_part/part-00003-1f2e3d4c.parquet
    SEGMENT/fetch_hosts/part-00003-1f2e3d4c.parquet

The first has the authorities whose robots.txt is on a server of another part; they may be as many
as the hosts of a hosting service, and are gone when the fetch is complete. The second has the hosts
that failed. A task that goes on after another's death takes over what that one told of them: pages
that failed have a record and are not asked for again.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

import pyarrow as pa

from crawl.errors import StorageError
from crawl.model.arrow import strings
from crawl.model.hosts import HostTrouble, merged_troubles, to_troubles, troubles_table
from crawl.storage.chunks import CROSS_PART, Piece
from crawl.storage.folder import Folder, attempt_name
from crawl.storage.parquet import each_group, open_table, open_writer
from crawl.storage.segments import FETCH_HOSTS as FETCH_HOSTS_PART

_CROSS_PART_SCHEMA = pa.schema(
    [pa.field("authority", pa.string(), False), pa.field("robots_url", pa.string(), False)]
)
_FORMER_CROSS_PART, _FORMER_TROUBLES = "strays", "troubles"
"""The keys under which ends of former releases have the rows themselves."""

_log = logging.getLogger(__name__)


def files_as_told(
    cross_part: Piece | None, troubles: Piece | None, servers: Piece | None
) -> dict[str, Any]:
    """The files as a part's end names them; the last has what its servers are owed."""
    named = {"cross_part": cross_part, "host_troubles": troubles, "servers": servers}
    return {name: None if piece is None else asdict(piece) for name, piece in named.items()}


def write_cross_part(segment: Folder, part: int, authorities: Mapping[str, str]) -> Piece | None:
    """Writes authorities and where the robots.txt of each redirects to; None where there are
    none."""
    if not authorities:
        return None
    columns = [pa.array(list(each)) for each in (authorities.keys(), authorities.values())]
    rows = pa.table(columns, schema=_CROSS_PART_SCHEMA)
    return _written(segment.child(CROSS_PART), part, rows)


def read_cross_part(segment: Folder, pieces: Iterable[Piece]) -> dict[str, str]:
    """The authorities of some parts."""
    authorities: dict[str, str] = {}
    for piece in pieces:
        with open_table(segment.child(CROSS_PART), piece.path, size=piece.bytes) as source:
            for rows in each_group(source):
                authorities.update(
                    zip(strings(rows["authority"]), strings(rows["robots_url"]), strict=True)
                )
    return authorities


def cross_part_told(segment: Folder, part: int, finished: Mapping[str, Any]) -> Piece | None:
    """The file that a part's end names. Raises StorageError where it cannot be read: the part is
    not done then, for its task alone can find the authorities again."""
    if rows := finished.get(_FORMER_CROSS_PART):
        authorities = rows if isinstance(rows, dict) else dict.fromkeys(rows, "")
        return write_cross_part(segment, part, authorities)
    piece = piece_told(finished.get("cross_part"))
    if piece is not None:
        read_cross_part(segment, [piece])
    return piece


def write_host_troubles(
    segment: Folder, part: int, troubles: Iterable[HostTrouble], *, is_resumed: bool
) -> Piece | None:
    """Writes the troubles of a task and of those before it; None where there are none."""
    folder = segment.child(FETCH_HOSTS_PART)
    before = _told_before(folder, part) if is_resumed else ()
    merged = merged_troubles([*before, *troubles])
    return _written(folder, part, troubles_table(merged)) if merged else None


def troubles_told(segment: Folder, part: int, finished: Mapping[str, Any]) -> Piece | None:
    """The file that a part's end names. One that is gone is none: its hosts are tried again, and
    that is all."""
    if rows := finished.get(_FORMER_TROUBLES):
        troubles = [HostTrouble(*row) for row in rows]
        return write_host_troubles(segment, part, troubles, is_resumed=False)
    piece, folder = piece_told(finished.get("host_troubles")), segment.child(FETCH_HOSTS_PART)
    if piece is None or folder.exists(piece.path):
        return piece
    _log.warning("%s is missing; its hosts are tried again", folder.path(piece.path))
    return None


def piece_told(entry: Mapping[str, Any] | None) -> Piece | None:
    """A file by its entry in a part's end."""
    return None if entry is None else Piece(**entry)


def _told_before(folder: Folder, part: int) -> Iterator[HostTrouble]:
    for name in folder.names():
        if not name.startswith(f"part-{part:05d}-") or not name.endswith(".parquet"):
            continue
        try:
            with open_table(folder, name) as source:
                troubles = [each for rows in each_group(source) for each in to_troubles(rows)]
        except StorageError as error:
            _log.warning("%s; its hosts are tried again", error)
            continue
        yield from troubles


def _written(folder: Folder, part: int, rows: pa.Table) -> Piece:
    name = attempt_name(f"part-{part:05d}")
    with open_writer(folder, name, rows.schema) as writer:
        writer.write(rows)
    return Piece(name, writer.rows, writer.bytes)
