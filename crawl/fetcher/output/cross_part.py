"""Authorities whose robots.txt is on a server of another part, as files: one a part, since they may
be as many as the hosts of a hosting service, and the driver need not know any of them.

    SEGMENT/crawl_fetch/cross_part/part-00003-1f2e3d4c.parquet

The part's end (DONE.json) names the file. They are gone when the fetch is complete.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

import pyarrow as pa

from crawl.model.arrow import strings
from crawl.storage.chunks import CROSS_PART, Piece
from crawl.storage.folder import Folder, attempt_name
from crawl.storage.parquet import each_group, open_table, open_writer

_SCHEMA = pa.schema(
    [pa.field("authority", pa.string(), False), pa.field("robots_url", pa.string(), False)]
)
_FILE_KEY = "cross_part"
"""The key of the file in a part's end."""
_ROWS = "strays"
"""The key under which ends of former releases have the authorities themselves."""


def write_cross_part(segment: Folder, part: int, authorities: Mapping[str, str]) -> Piece | None:
    """Writes authorities and where the robots.txt of each redirects to; None where there are
    none."""
    if not authorities:
        return None
    name = attempt_name(f"part-{part:05d}")
    columns = [pa.array(list(each)) for each in (authorities.keys(), authorities.values())]
    with open_writer(segment.child(CROSS_PART), name, _SCHEMA) as writer:
        writer.write(pa.table(columns, schema=_SCHEMA))
    return Piece(name, writer.rows, writer.bytes)


def read_cross_part(segment: Folder, pieces: Iterable[Piece]) -> dict[str, str]:
    """The authorities of some parts."""
    found: dict[str, str] = {}
    for piece in pieces:
        with open_table(segment.child(CROSS_PART), piece.path, size=piece.bytes) as source:
            for rows in each_group(source):
                found.update(
                    zip(strings(rows["authority"]), strings(rows["robots_url"]), strict=True)
                )
    return found


def told_of(piece: Piece | None) -> dict[str, Any]:
    """The file as a part's end names it."""
    return {_FILE_KEY: None if piece is None else asdict(piece)}


def cross_part_told(segment: Folder, part: int, finished: Mapping[str, Any]) -> Piece | None:
    """The file that a part's end names. Raises StorageError where it cannot be read: the part is
    not done then, for its task alone can find the authorities again."""
    rows = finished.get(_ROWS)
    if rows:
        authorities = rows if isinstance(rows, dict) else dict.fromkeys(rows, "")
        return write_cross_part(segment, part, authorities)
    if finished.get(_FILE_KEY) is None:
        return None
    piece = Piece(**finished[_FILE_KEY])
    read_cross_part(segment, [piece])
    return piece
